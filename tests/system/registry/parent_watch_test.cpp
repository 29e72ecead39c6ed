// A worker learns that its parent is gone, and nothing else makes it believe so.
#include "holdfast/parent_watch.hpp"

#include "harness/child.hpp"
#include "harness/eventually.hpp"
#include "harness/no_threads.hpp"
#include "harness/pidfd.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <thread>

namespace holdfast {
namespace {

using harness::Deadline;
using namespace std::chrono_literals;

Deadline soon() {
    return Deadline::in(20s);
}

bool readable(int fd, int ms) {
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    const Deadline deadline = Deadline::in(std::chrono::milliseconds(ms));
    int n = 0;
    while ((n = ::poll(&one, 1, deadline.remaining_ms())) < 0 && errno == EINTR) {
    }
    return n > 0;
}

// What the worker has of the test: a place to say lines, and one byte to wait for; and a byte to its parent.
struct Voice {
    int out = -1;
    int in = -1;
    int to_parent = -1;
    void let_the_thread_end() const { (void)!::write(to_parent, "x", 1); }
    void say(const std::string& line) const {
        std::string text = line + "\n";
        (void)!::write(out, text.data(), text.size());
    }
    void wait_for_word() const {
        char c = 0;
        if (!readable(in, 20'000) || ::read(in, &c, 1) != 1)
            ::_exit(3);
    }
};

enum class ForkedBy { main_thread, thread_that_ends };

// Test -> parent -> worker. The parent pauses until it is killed; the worker runs its body and exits.
class Family {
public:
    Family(ForkedBy who, bool describe, const std::function<void(const Voice&)>& worker) {
        int up[2], down[2], armed[2];
        if (::pipe2(up, O_CLOEXEC) != 0 || ::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(armed, O_CLOEXEC) != 0)
            return;
        parent_ = ::fork();
        if (parent_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            be_parent(who, describe, worker, {.out = up[1], .in = down[0], .to_parent = armed[1]}, down[1],
                      armed[0]);
        }
        pidfd_ = sys::Fd(harness::pidfd_open(parent_)); // our child, not waited for
        for (int fd : {up[1], down[0], armed[0], armed[1]})
            ::close(fd);
        to_worker_ = sys::Fd(down[1]);
        lines_ = harness::PipeReader(sys::Fd(up[0]));
    }
    ~Family() { kill_parent(); }
    Family(const Family&) = delete;
    Family& operator=(const Family&) = delete;

    void kill_parent() {
        if (!pidfd_)
            return;
        harness::pidfd_signal(pidfd_.get(), SIGKILL);
        int status = 0;
        while (::waitpid(parent_, &status, 0) < 0 && errno == EINTR) {
        }
        pidfd_.reset();
    }
    std::string line() { return lines_.read_line(soon()).value_or("(nothing)"); }
    void word() const { (void)!::write(to_worker_.get(), "x", 1); }

private:
    [[noreturn]] static void be_parent(ForkedBy who, bool describe,
                                       const std::function<void(const Voice&)>& worker, const Voice& voice,
                                       int to_worker, int armed) {
        if (describe)
            ::setenv(parent_variable, ParentWatch::describe_self().value_or("bad").c_str(), 1);
        else
            ::unsetenv(parent_variable);
        auto fork_worker = [&] {
            if (::fork() != 0)
                return;
            ::alarm(3600); // whatever happens, it does not stay
            worker(voice);
            ::_exit(0);
        };
        if (who == ForkedBy::main_thread) {
            fork_worker();
        } else {
            std::thread([&] {
                fork_worker();
                readable(armed, 20'000); // the worker watches
            }).join();
            // the thread that made the worker is gone now
            (void)!::write(to_worker, "x", 1);
        }
        for (;;)
            ::pause();
    }
    pid_t parent_ = -1;
    sys::Fd pidfd_, to_worker_;
    harness::PipeReader lines_;
};

// As in a sandbox, or on a kernel before 5.3.
void forbid_pidfd_open() {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{.len = 4, .filter = code};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        ::_exit(4);
}

std::string name_of_reason(std::optional<WatchFired> why) {
    return !why ? "nothing" : *why == WatchFired::idle ? "idle" : "parent gone";
}

volatile std::sig_atomic_t death_signals = 0;

class Watch : public testing::TestWithParam<ParentWatch::Method> {
protected:
    static void set_up_worker() {
        if (GetParam() == ParentWatch::Method::death_signal)
            forbid_pidfd_open();
    }
};

TEST_P(Watch, FiresWhenTheParentIsKilled) {
    Family family(ForkedBy::main_thread, false, [](const Voice& voice) {
        set_up_worker();
        auto watch = ParentWatch::start();
        if (!watch || watch->method() != GetParam())
            return voice.say("cannot watch");
        voice.say(name_of_reason(watch->fired()) + (readable(watch->fd(), 0) ? " readable" : ""));
        bool came = readable(watch->fd(), 20'000);
        voice.say(came ? name_of_reason(watch->fired()) : "never");
        voice.say(name_of_reason(watch->fired()));
    });
    ASSERT_EQ(family.line(), "nothing");
    family.kill_parent();
    EXPECT_EQ(family.line(), "parent gone");
    EXPECT_EQ(family.line(), "parent gone") << "and stays gone";
}

TEST_P(Watch, CallsBackWhenTheParentIsKilled) {
    Family family(ForkedBy::main_thread, true, [](const Voice& voice) {
        set_up_worker();
        auto watch = ParentWatch::with_callback({}, [&](WatchFired why) {
            voice.say(name_of_reason(why));
            ::_exit(0); // the worker's own decision
        });
        voice.say(watch && watch->method() == GetParam() ? "watching" : "cannot watch");
        for (;;)
            ::pause();
    });
    ASSERT_EQ(family.line(), "watching");
    family.kill_parent();
    EXPECT_EQ(family.line(), "parent gone");
    EXPECT_EQ(family.line(), "(nothing)") << "once, and the worker has left";
}

TEST_P(Watch, DoesNotFireWhenAThreadOfTheParentEnds) {
    Family family(ForkedBy::thread_that_ends, false, [](const Voice& voice) {
        set_up_worker();
        // The control: a bare death signal does fire then. (On the fallback it is the watch's own signal that
        // comes.)
        if (GetParam() == ParentWatch::Method::pidfd) {
            ::signal(SIGUSR1, [](int) { death_signals = death_signals + 1; });
            ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
        }
        auto watch = ParentWatch::start();
        if (!watch)
            return voice.say(watch.error().message);
        voice.let_the_thread_end();
        if (GetParam() == ParentWatch::Method::pidfd) {
            bool misfired = harness::eventually(soon(), [] { return death_signals > 0; });
            voice.say(misfired ? "the bare signal misfired" : "no control");
        } else {
            voice.say(readable(watch->fd(), 20'000) ? "the bare signal misfired" : "no control");
        }
        voice.wait_for_word(); // the thread has ended, says the parent
        bool fired = watch->fired().has_value();
        voice.say(fired || readable(watch->fd(), 50) ? "fired" : "quiet");
        voice.say(readable(watch->fd(), 20'000) ? name_of_reason(watch->fired()) : "never");
    });
    EXPECT_EQ(family.line(), "the bare signal misfired");
    ASSERT_EQ(family.line(), "quiet");
    family.kill_parent();
    EXPECT_EQ(family.line(), "parent gone");
}

TEST_P(Watch, FiresAtOnceWhenTheParentIsDeadAlready) {
    for (bool described : {true, false}) {
        ::prctl(PR_SET_CHILD_SUBREAPER, 1); // orphans come to this living process, not to PID 1
        Family family(ForkedBy::main_thread, described, [&](const Voice& voice) {
            set_up_worker();
            pid_t parent = ::getppid();
            voice.say("up");
            voice.wait_for_word();
            harness::eventually(soon(), [&] { return ::getppid() != parent; });
            auto watch = ParentWatch::start();
            bool came = watch && readable(watch->fd(), described ? 20'000 : 0);
            voice.say(came ? name_of_reason(watch->fired()) : "nothing");
        });
        ASSERT_EQ(family.line(), "up");
        family.kill_parent();
        family.word();
        // Undescribed is the control, and the stated limit: the foster parent looks like any other.
        EXPECT_EQ(family.line(), described ? "parent gone" : "nothing");
        while (::waitpid(-1, nullptr, 0) > 0) {
        }
        ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    }
}

TEST_P(Watch, AForkOfTheWorkerHasNone) {
    Family family(ForkedBy::main_thread, false, [](const Voice& voice) {
        set_up_worker();
        auto watch = ParentWatch::start({.idle = Millis{60'000}});
        if (!watch)
            return voice.say(watch.error().message);
        pid_t child = ::fork();
        if (child == 0) {
            bool nothing = watch->fd() == -1 && !watch->fired();
            watch->touch();
            {
                ParentWatch gone = std::move(*watch);
            }
            ::_exit(nothing ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        voice.say(status == 0 ? "nothing there" : "something there");
        voice.say(readable(watch->fd(), 20'000) ? name_of_reason(watch->fired()) : "never");
    });
    EXPECT_EQ(family.line(), "nothing there");
    family.kill_parent();
    EXPECT_EQ(family.line(), "parent gone");
}

INSTANTIATE_TEST_SUITE_P(Ways, Watch,
                         testing::Values(ParentWatch::Method::pidfd, ParentWatch::Method::death_signal),
                         [](const auto& way) {
                             return way.param == ParentWatch::Method::pidfd ? "pidfd" : "death_signal";
                         });

TEST(IdleLimit, FiresWithoutTouchAndEndsWithIt) {
    ::unsetenv(parent_variable);
    auto watch = ParentWatch::start({.idle = Millis{50}, .init_is_parent = true});
    ASSERT_TRUE(watch) << watch.error().message;
    ASSERT_TRUE(readable(watch->fd(), 20'000));
    EXPECT_EQ(watch->fired(), WatchFired::idle);
    EXPECT_EQ(watch->fired(), WatchFired::idle) << "until somebody touches it";
    watch->touch();
    // 50 ms may pass between two lines on a busy machine; a second touch right before the question is as
    // good.
    EXPECT_TRUE(harness::eventually(soon(), [&] {
        watch->touch();
        return !watch->fired() && (watch->touch(), !readable(watch->fd(), 0));
    }));
    EXPECT_TRUE(readable(watch->fd(), 20'000)) << "and it comes again";
}

TEST(IdleLimit, TouchPutsItOff) {
    ::unsetenv(parent_variable);
    auto watch = ParentWatch::start({.idle = Millis{5000}, .init_is_parent = true});
    ASSERT_TRUE(watch);
    auto control = ParentWatch::start({.idle = Millis{5000}, .init_is_parent = true});
    ASSERT_TRUE(control);
    auto touched = std::chrono::steady_clock::now();
    for (int i = 0; i < 8; ++i) {
        ::usleep(100'000);
        touched = std::chrono::steady_clock::now();
        watch->touch();
    }
    ASSERT_TRUE(readable(control->fd(), 20'000)) << "the untouched one";
    // Touched 0.8 s later, it fires later. On a busy machine that may be by now, but never too soon.
    const bool fired = watch->fired().has_value();
    EXPECT_TRUE(!fired || std::chrono::steady_clock::now() - touched >= std::chrono::seconds(5));
}

TEST(IdleLimit, CallsBackOnceAndMayBeDestroyedThere) {
    ::unsetenv(parent_variable);
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    sys::Fd in(ends[0]), out(ends[1]);
    std::optional<ParentWatch> watch;
    std::atomic<bool> placed = false;
    auto made = ParentWatch::with_callback({.idle = Millis{20}, .init_is_parent = true}, [&](WatchFired why) {
        while (!placed)
            std::this_thread::yield();
        watch.reset();
        (void)!::write(out.get(), why == WatchFired::idle ? "i" : "p", 1);
    });
    ASSERT_TRUE(made) << made.error().message;
    watch.emplace(std::move(*made));
    placed = true;
    ASSERT_TRUE(readable(in.get(), 20'000));
    char why = 0;
    ASSERT_EQ(::read(in.get(), &why, 1), 1);
    EXPECT_EQ(why, 'i');
    EXPECT_FALSE(readable(in.get(), 100));
}

TEST(IdleLimit, NoCallbackAfterDestruction) {
    ::unsetenv(parent_variable);
    std::atomic<int> calls = 0;
    {
        auto watch = ParentWatch::with_callback({.idle = Millis{60'000}, .init_is_parent = true},
                                                [&](WatchFired) { ++calls; });
        ASSERT_TRUE(watch);
    }
    EXPECT_EQ(calls, 0);
}

TEST(ParentWatchOptionsTest, WithoutAThreadItSaysSoAndTheCallerHearsItsSignals) {
    ::unsetenv(parent_variable);
    const int blocked = harness::blocked_signals();
    const harness::NoThreads none;
    const auto watch = ParentWatch::with_callback({.init_is_parent = true}, [](WatchFired) {});
    ASSERT_FALSE(watch.has_value());
    EXPECT_EQ(watch.error().sys, EAGAIN);
    EXPECT_NE(watch.error().message.find("thread"), std::string::npos) << watch.error().message;
    EXPECT_EQ(harness::blocked_signals(), blocked);
}

TEST(ParentWatchOptionsTest, RefusesWhatMakesNoSense) {
    ::unsetenv(parent_variable);
    EXPECT_EQ(ParentWatch::start({.idle = Millis{0}}).error().code, Errc::invalid_argument);
    EXPECT_EQ(ParentWatch::with_callback({}, {}).error().code, Errc::invalid_argument);
    ::setenv(parent_variable, "nonsense", 1);
    EXPECT_EQ(ParentWatch::start().error().code, Errc::invalid_argument);
    EXPECT_EQ(ParentWatch::with_callback({}, [](WatchFired) {}).error().code, Errc::invalid_argument);
    ::unsetenv(parent_variable);
}

} // namespace
} // namespace holdfast
