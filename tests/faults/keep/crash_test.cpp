// A crash of front or keeper at every system call, from the first to the last of a whole run: the other ends
// the tree, the next start succeeds, and nothing is left: no process, no entry, no cgroup. Also while the
// host dies, and while somebody stops it.
#include "harness/eventually.hpp"
#include "harness/holdfast_program.hpp"
#include "stepper/stepper.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>

namespace holdfast::stepper {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

struct Case {
    const char* name;
    int born; // 0: the front, 1: the keeper
    When when;
    const char* containment;
    enum class Story { ends, host_dies, is_stopped } story = Story::ends;
};
void PrintTo(const Case& crash, std::ostream* out) {
    *out << crash.name;
}

class Crash : public testing::TestWithParam<Case> {
protected:
    // The command leaves a daemon behind and exits, so one run has all there is: a start, an end, a tree to
    // be ended. Or it kills the host first, or has itself stopped, and the animal lives on.
    Spec spec() {
        Spec out;
        std::vector<std::string> words{
            "run", "--stop", "term:50ms,kill", "--contain", GetParam().containment, "--name", "crashed"};
        const std::string report = "--report=" + home.dir().file("report");
        std::vector<std::string> command = home.animal("setsid_daemon", {"--leader-exits", report});
        if (GetParam().story != Case::Story::ends)
            command = home.animal("setsid_daemon", {report});
        if (GetParam().story == Case::Story::host_dies) {
            auto other = harness::Child::spawn(home.command_of("zoo/term_ignorer", {}));
            EXPECT_TRUE(other);
            host = std::move(*other); // our child, and not reaped: the number stays its own
            words.insert(words.end(), {"--host", std::to_string(host.pid())});
            command.insert(command.begin(), {"/bin/sh", "-c", "kill -9 $0; exec \"$@\"", words.back()});
        }
        if (GetParam().story == Case::Story::is_stopped)
            command.insert(command.begin(), {"/bin/sh", "-c", "\"$0\" stop crashed >&2 & exec \"$@\"",
                                             harness::program("holdfast")});
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        out.program = home.command(words);
        out.role = GetParam().born == 0 ? root() : nth_born(GetParam().born);
        out.limit = test::patient(30s);
        out.settle = test::patient(15s);
        return out;
    }
    void expect_clean(std::size_t k, const Outcome& at) const {
        const std::string where = "killed at call " + std::to_string(k) + ", " + at.name;
        for (const Ended& one : at.family)
            EXPECT_NE(one.how, Ended::How::ended_by_stepper)
                << where << ": " << to_string(one) << " was left";
        const auto next = home.run({"run", "--contain", GetParam().containment, "--", "/bin/true"});
        ASSERT_TRUE(next) << where << ": " << next.error().message;
        EXPECT_TRUE(next->status.exited_with(0)) << where << ": the next start: " << next->err;
        const auto left = home.mark().survivors(harness::Deadline::in(20s));
        EXPECT_TRUE(left.empty()) << where << ": " << harness::to_string(left);
        EXPECT_TRUE(fs::is_empty(home.path() + "/run/default/helpers")) << where << ": an entry is left";
    }
    // The cgroups of this test's helpers that are still there. Every one is known: by an event, or by the
    // entry that a crash left. (Others on the machine make and leave cgroups of their own.)
    std::vector<std::string> cgroups_left() {
        const std::string log = harness::read_file(home.path() + "/state/default/events.jsonl").value_or("");
        const std::regex id("\"id\":\"([0-9a-f]{12})\"");
        for (std::sregex_iterator at(log.begin(), log.end(), id), end; at != end; ++at)
            ids.insert((*at)[1]);
        const std::string own = harness::read_file("/proc/self/cgroup").value_or("");
        const std::size_t from = own.rfind("0::") + 3;
        const std::string place = own.substr(from, own.find('\n', from) - from);
        std::vector<std::string> out;
        for (const std::string& one : ids)
            for (const char* mount : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"})
                if (const std::string path = mount + place + "/holdfast-" + one; fs::exists(path))
                    out.push_back(path);
        return out;
    }
    void note_entries() {
        std::error_code none;
        for (const auto& file : fs::directory_iterator(home.path() + "/run/default/helpers", none))
            ids.insert(file.path().stem().string());
    }
    std::set<std::string> ids;
    harness::HoldfastHome home;
    harness::Child host;
};

TEST_P(Crash, IsCleanedUp) {
    // Every point of the plain run by default, and some of the others, whose beginning is the same. On a
    // machine where that takes too long, HOLDFAST_SWEEP_STRIDE=7 takes every seventh.
    const char* text = std::getenv("HOLDFAST_SWEEP_STRIDE");
    const std::size_t by_default = GetParam().story == Case::Story::ends ? 1 : 13;
    const std::size_t stride = text ? std::max(1UL, std::strtoul(text, nullptr, 10)) : by_default;
    std::size_t points = 0;
    for (std::size_t k = 1; k < 5000; k += stride) {
        const auto at = kill_at(spec(), k, GetParam().when);
        ASSERT_TRUE(at) << at.error().message;
        if (!at->reached)
            break;
        ++points;
        host = {}; // it ends, if it was not reached
        note_entries();
        expect_clean(k, *at);
        if (HasFailure())
            return;
    }
    EXPECT_GE(points, 40 / stride) << "too few to have been the whole run";
    EXPECT_TRUE(harness::eventually(harness::Deadline::in(5s), [&] { return cgroups_left().empty(); }))
        << cgroups_left().size() << " cgroups are left, such as " << cgroups_left().front();
    EXPECT_FALSE(ids.empty());
    std::printf("%zu points\n", points);
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, Crash,
    testing::Values(Case{"FrontPlain", 0, When::entry, "plain"}, Case{"FrontAuto", 0, When::exit, "auto"},
                    Case{"KeeperPlain", 1, When::entry, "plain"}, Case{"KeeperAuto", 1, When::exit, "auto"},
                    Case{"FrontHostDies", 0, When::entry, "plain", Case::Story::host_dies},
                    Case{"KeeperHostDies", 1, When::entry, "plain", Case::Story::host_dies},
                    Case{"FrontIsStopped", 0, When::entry, "plain", Case::Story::is_stopped},
                    Case{"KeeperIsStopped", 1, When::entry, "plain", Case::Story::is_stopped}),
    [](const auto& one) { return one.param.name; });

} // namespace

} // namespace holdfast::stepper
