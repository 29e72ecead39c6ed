// A crash of front or keeper at every system call, from the first to the last of a whole run: the other ends
// the tree, the next start succeeds, and nothing is left: no process, no entry, no cgroup.
#include "harness/eventually.hpp"
#include "harness/holdfast_program.hpp"
#include "stepper/stepper.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
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
};
void PrintTo(const Case& crash, std::ostream* out) {
    *out << crash.name;
}

class Crash : public testing::TestWithParam<Case> {
protected:
    // The command leaves a daemon behind and exits, so one run has all there is: a start, an end, a tree to
    // be ended.
    Spec spec() const {
        Spec out;
        std::vector<std::string> words{"run", "--stop", "term:50ms,kill", "--contain", GetParam().containment,
                                       "--"};
        for (const std::string& word :
             home.animal("setsid_daemon", {"--leader-exits", "--report=" + home.dir().file("report")}))
            words.push_back(word);
        out.program = home.command(words);
        out.role = GetParam().born == 0 ? root() : nth_born(GetParam().born);
        out.limit = 30s;
        out.settle = 15s;
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
    // Cgroups of helpers with nobody inside. One is made a moment before its first process moves in, so only
    // what stays empty is left behind.
    static std::set<std::string> empty_cgroups() {
        std::set<std::string> out;
        for (const char* mount : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
            std::error_code none;
            for (const auto& entry : fs::directory_iterator(mount, none)) {
                const std::string path = entry.path().string();
                const auto events = harness::read_file(path + "/cgroup.events");
                if (entry.path().filename().string().starts_with("holdfast-") && events &&
                    events->find("populated 0") != std::string::npos)
                    out.insert(path);
            }
        }
        return out;
    }
    harness::HoldfastHome home;
    const std::set<std::string> cgroups_before = empty_cgroups();
};

TEST_P(Crash, IsCleanedUp) {
    // Every point by default. On a machine where that takes too long, HOLDFAST_SWEEP_STRIDE=7 takes every
    // seventh.
    const char* text = std::getenv("HOLDFAST_SWEEP_STRIDE");
    const std::size_t stride = text ? std::max(1UL, std::strtoul(text, nullptr, 10)) : 1;
    std::size_t points = 0;
    for (std::size_t k = 1; k < 5000; k += stride) {
        const auto at = kill_at(spec(), k, GetParam().when);
        ASSERT_TRUE(at) << at.error().message;
        if (!at->reached)
            break;
        ++points;
        expect_clean(k, *at);
        if (HasFailure())
            return;
    }
    EXPECT_GE(points, 40 / stride) << "too few to have been the whole run";
    auto suspects = empty_cgroups();
    EXPECT_TRUE(harness::eventually(harness::Deadline::in(5s),
                                    [&] {
                                        std::erase_if(suspects, [&](const std::string& path) {
                                            return cgroups_before.contains(path) || !fs::exists(path);
                                        });
                                        return suspects.empty();
                                    }))
        << suspects.size() << " cgroups are left, such as " << *suspects.begin();
    std::printf("%zu points\n", points);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Crash,
                         testing::Values(Case{"FrontPlain", 0, When::entry, "plain"},
                                         Case{"FrontAuto", 0, When::exit, "auto"},
                                         Case{"KeeperPlain", 1, When::entry, "plain"},
                                         Case{"KeeperAuto", 1, When::exit, "auto"}),
                         [](const auto& one) { return one.param.name; });

} // namespace

} // namespace holdfast::stepper
