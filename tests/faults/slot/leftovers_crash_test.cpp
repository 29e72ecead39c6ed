// G2 no human, G3 right target: a crash at every system call of a contender that ends an orphan's leftovers.
// Who holds a lock is found by a walk over /proc, which on a machine with hundreds of processes is thousands
// of calls; so this sweep runs in a PID namespace that has a handful.
#include "harness/holdfast_program.hpp"
#include "harness/temp_dir.hpp"
#include "holdfast/slot.hpp"
#include "pid_reuse/pid_reuse.hpp"
#include "stepper/stepper.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

namespace holdfast {
namespace {

using pid_reuse::Scenario;
using stepper::Outcome;
using stepper::When;
using namespace std::chrono_literals;

[[noreturn]] void sleep_on() {
    for (;;)
        ::pause();
}

// A child of ours that says "!" when `prepare` is through, and then sleeps.
template <typename Prepare>
pid_t start_sleeper(Prepare prepare) {
    int bell[2];
    if (::pipe(bell) != 0)
        return -1;
    const pid_t pid = ::fork();
    if (pid == 0) {
        prepare();
        (void)!::write(bell[1], "!", 1);
        ::close(bell[0]);
        ::close(bell[1]);
        sleep_on();
    }
    char byte = 0;
    (void)!::read(bell[0], &byte, 1);
    ::close(bell[0]);
    ::close(bell[1]);
    return pid;
}

// What an owner left: a process that holds life and nothing else.
void hold_life(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    struct flock life{};
    life.l_type = F_WRLCK;
    life.l_whence = SEEK_SET;
    life.l_start = 0;
    life.l_len = 1;
    if (::fcntl(fd, F_OFD_SETLK, &life) != 0)
        ::_exit(9);
}

TEST(Crash, OfAContenderThatEndsLeftovers) {
    const harness::TempDir directory;
    const SlotLocation slot{directory.path().string(), "slot"};
    auto report = pid_reuse::run({.limit = 120s}, [&](Scenario& scene) {
        const pid_t bystander = start_sleeper([] {
            for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGCONT})
                ::signal(signal, [](int) { ::_exit(1); }); // any signal is one too many
        });
        pid_t leftover = -1;
        auto points = stepper::sweep(
            When::entry, 1500,
            [&](std::size_t round) {
                std::filesystem::remove(slot.directory + "/slot.lock");
                std::filesystem::remove(slot.directory + "/slot.json");
                leftover = start_sleeper([&] {
                    if (round % 2)
                        ::signal(SIGTERM, SIG_IGN); // so that the way leads over KILL too
                    hold_life(slot.directory + "/slot.lock");
                });
                stepper::Spec spec;
                spec.program.argv = {harness::program("slot_step"), slot.directory, "slot", "replace"};
                return spec;
            },
            [&](std::size_t k, const Outcome& outcome) {
                const std::string at = "killed at call " + std::to_string(k) + " (" + outcome.name + ")";
                auto got =
                    acquire(slot, {.if_held = IfHeld::replace, .grace = Millis{20}, .stall = Millis{20}});
                scene.check(got && got->ownership, at + ": " + (got ? "no ownership" : got.error().message));
                int status = 0;
                scene.check(::waitpid(leftover, &status, 0) == leftover && WIFSIGNALED(status),
                            at + ": the leftover was ended");
                if (got && got->ownership)
                    got->ownership->release();
                auto seen = query(slot);
                scene.check(seen && seen->state == SlotState::free, at + ": free in the end");
                // As the namespace's init we get what the killed contender leaves (its lock waiter). Unreaped
                // they would pile up, and each makes the next contender's walk through /proc longer: the
                // sweep would run after its own end.
                while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
                }
            });
        scene.check(points.has_value(), points ? "" : points.error().message);
        scene.note("points", points ? static_cast<long long>(*points) : 0);
        // The last round was not killed: its leftover was ended by the contender itself.
        int status = 0;
        scene.check(::waitpid(bystander, &status, WNOHANG) == 0, "the bystander was left alone");
        ::kill(bystander, SIGKILL);
    });
    if (!report && report.error().code == Errc::unsupported)
        GTEST_SKIP() << "this machine allows no PID namespaces: " << report.error().message;
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->passed()) << report->text();
    EXPECT_GE(report->notes["points"], 60) << "a sweep of a few points would look green too";
    std::cout << report->notes["points"] << " points\n";
}

} // namespace
} // namespace holdfast
