// G3 right target, with real PID reuse: a process is seen, dies, and its number is given to a stranger before
// the signal goes out. Every path of the slot that signals, with the pidfd's inode and without it.
#include "harness/pidfd.hpp"
#include "harness/temp_dir.hpp"
#include "holdfast/slot.hpp"
#include "pid_reuse/pid_reuse.hpp"
#include "slot/freeze_points.hpp"
#include "sys/proc.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace holdfast {
namespace {

using namespace pid_reuse;
using namespace std::chrono_literals;
using harness::Deadline;

constexpr pid_t chosen = 400;

[[noreturn]] void sleep_on() {
    for (;;)
        ::pause();
}

// A pipe on which a process of the scenario says one byte.
struct Bell {
    int ends[2] = {-1, -1};
    Bell() { (void)!::pipe(ends); }
    void ring() const { (void)!::write(ends[1], "!", 1); }
    void wait() const {
        char byte = 0;
        (void)!::read(ends[0], &byte, 1);
    }
};

bool untouched(const Spawned& stranger) {
    return !harness::wait_pidfd(stranger.pidfd.get(), Deadline::exactly(100ms));
}

// Ends with 0 for ownership, otherwise with the error's number.
int result_of(const Result<Acquired>& got) {
    return got ? (got->ownership ? 0 : 100) : static_cast<int>(got.error().code);
}

class SlotReuse : public testing::TestWithParam<bool> {
protected:
    harness::TempDir directory_;
    [[nodiscard]] SlotLocation slot() const { return {directory_.path().string(), "slot"}; }

    void run_scenario(const std::function<void(Scenario&)>& scenario) {
        auto report = pid_reuse::run({}, [&](Scenario& scene) {
            if (!GetParam()) {
                ::setenv("HOLDFAST_WITHOUT_PIDFS", "1", 1); // for the programs that it starts
                sys::PidFd::ignore_inodes();
            }
            scenario(scene);
        });
        if (!report && report.error().code == Errc::unsupported)
            GTEST_SKIP() << report.error().message;
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->passed()) << report->text();
    }

    // An owner under the chosen number, ready.
    Result<Spawned> owner(Scenario& scene, bool ignores_term = false) {
        Bell owns;
        auto made = scene.spawn_with_pid(chosen, [&]() -> int {
            if (ignores_term)
                ::signal(SIGTERM, SIG_IGN);
            auto got = acquire(slot(), {});
            if (!got || !got->ownership || !got->ownership->ready())
                return 1;
            owns.ring();
            sleep_on();
        });
        owns.wait();
        return made;
    }
    // A process that runs `body` and stops before the n-th pidfd that it opens. Returns when it stands there.
    pid_t frozen_before_pidfd(Scenario& scene, int turn, const std::function<int()>& body) {
        pid_t pid = ::fork();
        if (pid == 0) {
            slot_child::freeze.pidfd_open = turn;
            ::_exit(body());
        }
        int status = 0;
        scene.check(::waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status),
                    "it stands before the pidfd");
        return pid;
    }
    static int let_go(pid_t pid) {
        int status = 0;
        ::kill(pid, SIGCONT); // our child, not waited for
        ::waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    }
    // The process under the chosen number ends, and a stranger gets the number.
    Result<Spawned> recycle(Scenario& scene, const Spawned& former) {
        scene.check(scene.end(former).has_value(), "the former one is gone");
        auto stranger = scene.spawn_with_pid(chosen, []() -> int { sleep_on(); });
        scene.check(stranger && stranger->pid == chosen, "its number is a stranger's");
        return stranger;
    }
};

// The negative control: with the number alone the stranger is hit.
TEST_P(SlotReuse, NegativeControlTheNumberAloneHitsTheStranger) {
    run_scenario([&](Scenario& scene) {
        auto former = owner(scene);
        auto seen = query(slot());
        auto stranger = recycle(scene, *former);
        ::kill(seen->owner_pid, SIGTERM);
        scene.check(!untouched(*stranger), "the instrument works: a number is no identity");
    });
}

TEST_P(SlotReuse, AnOldRecordNamesAStranger) {
    run_scenario([&](Scenario& scene) {
        auto former = owner(scene);
        auto stranger = recycle(scene, *former);
        auto info = query(slot());
        scene.check(info && info->state == SlotState::free && info->owner_pid == 0, "nobody owns it");
        scene.check(!stop_slot(slot(), {}).value().anybody, "there is nothing to stop");
        for (IfHeld policy : {IfHeld::refuse, IfHeld::replace, IfHeld::wait, IfHeld::attach})
            scene.check(result_of(acquire(slot(), {.if_held = policy})) == 0, "a plain start succeeds");
        scene.check(untouched(*stranger), "the stranger was left alone");
    });
}

TEST_P(SlotReuse, TheOwnerDiesBeforeTerm) {
    run_scenario([&](Scenario& scene) {
        auto former = owner(scene);
        pid_t contender = frozen_before_pidfd(scene, 1, [&] {
            return result_of(acquire(slot(), {.if_held = IfHeld::replace, .grace = Millis{50}}));
        });
        auto stranger = recycle(scene, *former);
        scene.check(let_go(contender) == 0, "the contender owns the slot");
        scene.check(untouched(*stranger), "the stranger was left alone");
    });
}

TEST_P(SlotReuse, TheOwnerDiesBeforeKill) {
    run_scenario([&](Scenario& scene) {
        auto former = owner(scene, true);
        pid_t contender = frozen_before_pidfd(scene, 2, [&] {
            return result_of(acquire(slot(), {.if_held = IfHeld::replace, .grace = Millis{50}}));
        });
        auto stranger = recycle(scene, *former);
        scene.check(let_go(contender) == 0, "the contender owns the slot");
        scene.check(untouched(*stranger), "the stranger was left alone");
    });
}

TEST_P(SlotReuse, TheOwnerDiesBeforeStopSignalsIt) {
    for (bool now : {false, true})
        run_scenario([&](Scenario& scene) {
            auto former = owner(scene);
            pid_t stopper = frozen_before_pidfd(scene, 1, [&] {
                auto done = stop_slot(slot(), {.grace = Millis{50}, .now = now});
                return done ? 0 : static_cast<int>(done.error().code);
            });
            auto stranger = recycle(scene, *former);
            scene.check(let_go(stopper) == 0, "stop is done");
            scene.check(untouched(*stranger), "the stranger was left alone");
        });
}

TEST_P(SlotReuse, ALeftoverDiesBeforeItIsSignalled) {
    run_scenario([&](Scenario& scene) {
        // The owner is another process; what it leaves has the chosen number and holds life.
        Bell left;
        pid_t host = ::fork();
        if (host == 0) {
            auto got = acquire(slot(), {});
            int life = ::dup(got->ownership->life_fd()); // a copy that survives the fork
            if (life < 0)
                ::_exit(1);
            left.ring();
            sleep_on();
        }
        left.wait();
        // A child of the scenario gets the descriptor from the host.
        int pidfd = harness::pidfd_open(host);
        auto leftover = scene.spawn_with_pid(chosen, [&]() -> int {
            bool any = false;
            for (int fd = 3; fd < 32; ++fd) { // whichever it is: all of them
                int copy = static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd, fd, 0));
                any |= copy >= 0;
            }
            if (!any)
                return 1;
            left.ring();
            sleep_on();
        });
        left.wait();
        ::kill(host, SIGKILL); // our child, not waited for
        ::waitpid(host, nullptr, 0);
        auto info = query(slot());
        scene.check(info && info->state == SlotState::orphaned, "the slot is orphaned");
        scene.check(info && info->leftovers.size() == 1 && info->leftovers[0].pid == chosen,
                    "by the chosen one");
        pid_t contender = frozen_before_pidfd(scene, 1, [&] {
            return result_of(acquire(slot(), {.if_held = IfHeld::replace, .grace = Millis{50}}));
        });
        auto stranger = recycle(scene, *leftover);
        scene.check(let_go(contender) == 0, "the contender owns the slot");
        scene.check(untouched(*stranger), "the stranger was left alone");
    });
}

INSTANTIATE_TEST_SUITE_P(Identity, SlotReuse, testing::Bool(),
                         [](const auto& with) { return with.param ? "WithPidfs" : "WithoutPidfs"; });

} // namespace
} // namespace holdfast
