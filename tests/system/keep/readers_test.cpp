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
    {{"top"}},
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
        struct stat file{};
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

// As a user who may not read the home: root may read everything, so as root it is another user.
class UnreadableHome : public Readers {
protected:
    UnreadableHome() {
        if (::geteuid() == 0) {
            EXPECT_EQ(::chown(visitors.path().c_str(), 65534, 65534), 0);
        }
        for (const char* name : {"holdfast", "holdfast-memory"}) {
            fs::copy_file(program(name), visitors.file(name));
            EXPECT_EQ(::chmod(visitors.file(name).c_str(), 0755), 0);
        }
    }
    Finished visit(const Words& words) const {
        SpawnSpec spec = command(words);
        spec.argv[0] = visitors.file("holdfast");
        if (::geteuid() == 0)
            spec.argv.insert(spec.argv.begin(),
                             {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"});
        auto done = run_to_end(spec, Deadline::in(patience));
        EXPECT_TRUE(done) << text_of(words) << ": " << done.error().message;
        return done ? std::move(*done) : Finished{};
    }
    void expect_all_say_so(const std::vector<Words>& commands) const {
        for (const Words& words : commands) {
            const auto done = visit(words);
            EXPECT_TRUE(done.status.exited_with(77))
                << text_of(words) << ": " << to_string(done.status) << done.out << done.err;
            EXPECT_NE(done.err.find("ermission denied"), std::string::npos) << text_of(words) << done.err;
            EXPECT_NE(done.err.find(place), std::string::npos)
                << "it is named: " << text_of(words) << done.err;
            EXPECT_EQ(done.out, "") << text_of(words);
        }
    }
    TempDir visitors;
};

const std::vector<Words> of_helpers{
    {"ps"},          {"ps", "--json"},  {"ps", "--watch"},          {"top"},
    {"stop", "one"}, {"stop", "--all"}, {"stop", "--session", "s"}, {"logs", "one"}};

TEST_F(UnreadableHome, G11IsAnErrorAndNotAHomeWithNothingInIt) {
    fs::create_directory(place);
    ASSERT_EQ(::chmod(place.c_str(), ::geteuid() == 0 ? 0700 : 0), 0);
    expect_all_say_so(of_helpers);
    expect_all_say_so({{"slots"},
                       {"slots", "--watch"},
                       {"status", "one"},
                       {"wait", "one", "--for", "free"},
                       {"events"},
                       {"events", "--follow"},
                       {"run", "--slot", "one", "--", "true"},
                       {"memory", "status"},
                       {"memory", "search", "x"},
                       {"memory", "export"},
                       {"memory", "check"},
                       {"memory", "sessions"},
                       {"hermes", "status", "--home", place + "/hermes"}});
    // A helper without a slot starts all the same, and says that it is not listed.
    const auto ran = visit({"run", "--", "true"});
    EXPECT_TRUE(ran.status.exited_with(0)) << ran.err;
    EXPECT_NE(ran.err.find("is not listed"), std::string::npos) << ran.err;
    ASSERT_EQ(::chmod(place.c_str(), 0700), 0);
}

// The directories of the helpers and slots, with a name for each; once none of it can be read, once only the
// names. And once all names, but not what is behind them.
TEST_F(UnreadableHome, G11NorAreHelpersThatCannotBeSeen) {
    SpawnSpec spec =
        command(Words{"run", "--slot", "one", "--name", "one", "--log", "--"} + home.animal("timer_holder"));
    spec.in = Stdio::pipe;
    auto running = Child::spawn(spec);
    ASSERT_TRUE(running);
    ASSERT_TRUE(running->out().read_line(Deadline::in(patience)));
    std::string helpers, slots, log;
    std::vector<std::string> locks;
    for (const auto& one : fs::recursive_directory_iterator(place)) {
        if (one.path().filename() == "helpers")
            helpers = one.path();
        if (one.path().filename() == "slots")
            slots = one.path();
        if (one.path().extension() == ".log")
            log = one.path();
        if (one.path().extension() == ".lock")
            locks.push_back(one.path());
    }
    ASSERT_FALSE(helpers.empty());
    ASSERT_FALSE(slots.empty());
    ASSERT_EQ(locks.size(), 2U);
    for (const auto& one : fs::recursive_directory_iterator(place))
        ASSERT_EQ(::chmod(one.path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(place.c_str(), 0755), 0);
    for (fs::path above = fs::path(place).parent_path(); above == home.path(); above = above.parent_path())
        ASSERT_EQ(::chmod(above.c_str(), 0755), 0);
    ASSERT_TRUE(visit({"ps"}).status.exited_with(0)) << "what may be read is";
    for (const mode_t mode : {0700U, 0744U}) {
        for (const auto& [directory, commands] :
             {std::pair(helpers, of_helpers),
              std::pair(slots, std::vector<Words>{{"slots"}, {"status", "one"}})}) {
            ASSERT_EQ(::chmod(directory.c_str(), ::geteuid() == 0 ? mode : mode & 0444), 0);
            expect_all_say_so(commands);
            ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
        }
    }
    ASSERT_FALSE(log.empty());
    ASSERT_EQ(::chmod(log.c_str(), ::geteuid() == 0 ? 0600 : 0), 0);
    expect_all_say_so({{"logs", "one"}});
    for (const std::string& lock : locks)
        ASSERT_EQ(::chmod(lock.c_str(), ::geteuid() == 0 ? 0600 : 0), 0);
    expect_all_say_so(of_helpers);
    expect_all_say_so({{"slots"}, {"status", "one"}});
    for (const std::string& lock : locks)
        ASSERT_EQ(::chmod(lock.c_str(), 0600), 0);
}

// A picture for a script or a file, and not one after the other without end.
TEST_F(Readers, TopWithoutATerminalPrintsOnce) {
    SpawnSpec spec = command(Words{"run", "--name", "one", "--"} + home.animal("timer_holder"));
    spec.in = Stdio::pipe;
    auto running = Child::spawn(spec);
    ASSERT_TRUE(running);
    ASSERT_TRUE(running->out().read_line(Deadline::in(patience)));
    const auto top = run_to_end(command({"top"}), Deadline::in(patience));
    ASSERT_TRUE(top) << top.error().message;
    EXPECT_TRUE(top->status.exited_with(0)) << top->err;
    EXPECT_TRUE(top->out.starts_with("1 helpers")) << top->out;
    EXPECT_EQ(count(top->out, "timer_holder"), 1U) << top->out;
    EXPECT_EQ(top->out.find('\033'), std::string::npos);
}

// What there is, is stopped, whatever else was asked for.
TEST_F(Readers, StopOfSeveralNamesStopsWhatThereIsAndNamesTheRest) {
    for (const bool as_json : {false, true}) {
        SpawnSpec spec = command(Words{"run", "--name", "one", "--"} + home.animal("timer_holder"));
        spec.in = Stdio::pipe;
        auto running = Child::spawn(spec);
        ASSERT_TRUE(running);
        ASSERT_TRUE(running->out().read_line(Deadline::in(patience)));
        const auto stopped = run_to_end(
            command(Words{"stop", "nosuch", "one", "norsuch"} + (as_json ? Words{"--json"} : Words{})),
            Deadline::in(patience));
        ASSERT_TRUE(stopped) << stopped.error().message;
        EXPECT_TRUE(stopped->status.exited_with(3)) << to_string(stopped->status) << stopped->err;
        EXPECT_NE(stopped->err.find("\"nosuch\""), std::string::npos) << stopped->err;
        EXPECT_NE(stopped->err.find("\"norsuch\""), std::string::npos) << stopped->err;
        EXPECT_EQ(count(stopped->out, as_json ? "\"stopped\":true" : "stopped one"), 1U) << stopped->out;
        EXPECT_EQ(count(stopped->out, "\"stopped\":false"), as_json ? 2U : 0U) << stopped->out;
        EXPECT_TRUE(running->wait_ended(Deadline::in(patience)));
    }
}

} // namespace

} // namespace holdfast::harness
