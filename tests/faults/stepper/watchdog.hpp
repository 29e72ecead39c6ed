// The bound on a traced run: a blocking wait for tracees has no time-out, but it ends when they all die. So a
// second thread kills every known process, through pidfds, when the time is up.
#pragma once

#include "harness/pidfd.hpp"
#include "sys/fd.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace holdfast::stepper {

class Watchdog {
public:
    using Clock = std::chrono::steady_clock;

    Watchdog()
        : thread_([this] { run(); }) {}
    ~Watchdog() {
        {
            const std::lock_guard hold(mutex_);
            done_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    void arm(std::chrono::milliseconds from_now) {
        {
            const std::lock_guard hold(mutex_);
            at_ = Clock::now() + from_now;
        }
        changed_.notify_one();
    }
    // From now on this process is killed when the time is up; at once when it already is.
    void watch(pid_t pid, std::shared_ptr<sys::Fd> pidfd) {
        const std::lock_guard hold(mutex_);
        if (expired_)
            (void)harness::pidfd_signal(pidfd->get(), SIGKILL);
        watched_[pid] = std::move(pidfd);
    }
    void forget(pid_t pid) {
        const std::lock_guard hold(mutex_);
        watched_.erase(pid);
    }
    [[nodiscard]] bool expired() const {
        const std::lock_guard hold(mutex_);
        return expired_;
    }

private:
    void run() {
        std::unique_lock hold(mutex_);
        while (!done_) {
            changed_.wait_until(hold, at_);
            if (done_ || expired_ || Clock::now() < at_)
                continue;
            expired_ = true;
            at_ = Clock::now() + std::chrono::hours(1);
            for (const auto& [pid, pidfd] : watched_)
                (void)harness::pidfd_signal(pidfd->get(), SIGKILL);
        }
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<pid_t, std::shared_ptr<sys::Fd>> watched_;
    Clock::time_point at_ = Clock::now() + std::chrono::hours(1);
    bool expired_ = false;
    bool done_ = false;
    std::thread thread_; // last: it uses everything above
};

} // namespace holdfast::stepper
