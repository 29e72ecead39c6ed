// G11 truth: a command that only looks makes, locks and removes nothing, whether there is something to look
// at or not.
#include "keep/fixture.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

namespace holdfast::harness {

namespace {

namespace fs = std::filesystem;

// All that only look; those that go on until they are told to leave are marked so.
struct Look {
    Words words;
    bool goes_on = false;
    int exits_with = 0; // where nothing is there
};
const std::vector<Look> looks{
    {{"ps"}},
    {{"ps", "--json", "--tree"}},
    {{"ps", "--watch"}, true},
    {{"top"}, true},
    {{"slots"}},
    {{"slots", "--json"}},
    {{"slots", "--watch"}, true},
    {{"status", "one"}, false, 3},
    {{"wait", "one", "--for", "free"}},
    {{"wait", "one", "--for", "ready", "--wait", "100ms"}, false, 75},
    {{"wait", "one", "--for", "ready"}, true},
    {{"logs", "one"}, false, 3},
    {{"logs", "-f", "one"}, false, 3},
    {{"events"}},
    {{"events", "--json"}},
    {{"events", "-f"}, true},
    {{"doctor", "--under", "1"}},
    {{"memory", "status"}, false, 3},
    {{"completion", "names", "--", "stop", ""}},
    {{"completion", "names", "--", "logs", ""}},
    {{"hermes", "status"}, false, 64},
};

std::string text_of(const Words& words) {
    std::string out;
    for (const std::string& word : words)
        out += " " + word;
    return out;
}

// Every name below a directory, with what would show a change.
std::map<std::string, std::string> listing(const std::string& directory) {
    std::map<std::string, std::string> out;
    std::error_code none;
    for (const auto& one : fs::recursive_directory_iterator(directory, none)) {
        struct stat file {};
        if (::lstat(one.path().c_str(), &file) == 0)
            out[one.path().string()] =
                std::to_string(file.st_ino) + " " + std::to_string(file.st_mode) + " " +
                std::to_string(file.st_size) + " " + std::to_string(file.st_mtim.tv_sec) + "." +
                std::to_string(file.st_mtim.tv_nsec) + " " + std::to_string(file.st_ctim.tv_nsec);
    }
    return out;
}

class Readers : public Keep {
protected:
    // In a home of its own below the test's directory, so that everything that could be made is seen.
    SpawnSpec command(const Words& words) const {
        SpawnSpec spec = home.command(words);
        for (std::string& variable : spec.env)
            if (variable.starts_with("HOLDFAST_HOME="))
                variable = "HOLDFAST_HOME=" + place;
        std::erase_if(spec.env, [](const std::string& one) { return one.starts_with("HOME="); });
        spec.env.push_back("HOME=" + place + "/nobody");
        return spec;
    }
    // What it says is read until it has looked once and waits for something to happen.
    void look(const Look& look) const {
        if (!look.goes_on) {
            const auto done = run_to_end(command(look.words), Deadline::in(patience));
            ASSERT_TRUE(done) << done.error().message;
            if (!fs::exists(place)) {
                EXPECT_TRUE(done->status.exited_with(look.exits_with))
                    << text_of(look.words) << ": " << to_string(done->status) << done->err;
            }
            return;
        }
        auto child = Child::spawn(command(look.words));
        ASSERT_TRUE(child) << child.error().message;
        int quiet = 0; // looks at it in a row at which it slept
        EXPECT_TRUE(eventually(Deadline::in(patience), [&] {
            const auto info = inspect(child->pid());
            quiet = info && info->state == 'S' ? quiet + 1 : 0;
            return quiet >= 20;
        })) << text_of(look.words);
        EXPECT_TRUE(child->alive()) << text_of(look.words) << " has not gone on";
        child->signal(SIGTERM);
        EXPECT_TRUE(child->wait_ended(Deadline::in(patience))) << text_of(look.words);
    }
    const std::string place = home.dir().file("elsewhere");
};

TEST_F(Readers, G11OfAHomeThatIsNotThereMakeNothing) {
    for (const Look& one : looks) {
        look(one);
        EXPECT_FALSE(fs::exists(place)) << text_of(one.words) << " has made it";
        fs::remove_all(place);
    }
}

TEST_F(Readers, G11OfAHomeWithEverythingInItChangeNothing) {
    // A helper that runs in a slot, with a log; one that has ended; leftovers of one whose guards were
    // killed.
    const auto ran =
        run_to_end(command({"run", "--slot", "ended", "--log", "--", "/bin/true"}), Deadline::in(patience));
    ASSERT_TRUE(ran && ran->status.exited_with(0));
    SpawnSpec spec =
        command(Words{"run", "--slot", "one", "--name", "one", "--log", "--"} + home.animal("timer_holder"));
    spec.in = Stdio::pipe;
    auto running = Child::spawn(spec);
    ASSERT_TRUE(running);
    const auto ready = run_to_end(command({"wait", "one", "--for", "ready"}), Deadline::in(patience));
    ASSERT_TRUE(ready && ready->status.exited_with(0));
    ASSERT_TRUE(running->out().read_line(Deadline::in(patience)));
    const auto before = listing(place);
    ASSERT_GE(before.size(), 8U);
    for (const Look& one : looks) {
        if (one.words.front() == "wait" && one.words[3] == "free")
            continue; // it would wait for ever
        Look there = one;
        if (one.words.front() == "logs" && one.words[1] == "-f")
            there.goes_on = true;
        if (one.words == Words{"wait", "one", "--for", "ready"})
            there.goes_on = false;
        look(there);
        EXPECT_EQ(listing(place), before) << text_of(one.words) << " has changed something";
    }
}

// Who follows what is not there yet hears it when it comes.
TEST_F(Readers, WhoFollowsEventsBeforeTheFirstHearsTheFirst) {
    auto child = Child::spawn(command({"events", "-f", "--json"}));
    ASSERT_TRUE(child);
    const auto ran =
        run_to_end(command({"run", "--name", "first", "--", "/bin/true"}), Deadline::in(patience));
    ASSERT_TRUE(ran && ran->status.exited_with(0));
    const auto line = child->out().read_line(Deadline::in(patience));
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_NE(line->find("\"spawned\""), std::string::npos) << *line;
    child->signal(SIGTERM);
    EXPECT_TRUE(child->wait_ended(Deadline::in(patience)));
}

} // namespace

} // namespace holdfast::harness
