// The event loop of a supervisor: one thread with an epoll. Nothing it knows keeps a client alive: callbacks
// hold what they need weakly.
#pragma once

#include "holdfast/result.hpp"
#include "supervise/event_loop.hpp"
#include "sys/fd.hpp"
#include "sys/fork_shield.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace holdfast::supervise {

class Loop final : public EventLoop, public std::enable_shared_from_this<Loop> {
public:
    // Its thread keeps it alive while it runs, so whoever runs on that thread may drop everything else.
    // stop() it. Errors: no descriptor or no thread (EAGAIN) to be had.
    static Result<std::shared_ptr<Loop>> start();
    ~Loop() override;

    void post(Task task) override;
    // All ticks are called whenever the loop wakes up.
    std::unique_ptr<Timer> timer(Tick tick) override;
    [[nodiscard]] bool on_own_thread() const noexcept override {
        return own_id_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
    void watch(int fd, std::uint32_t events, Ready ready) override;
    void unwatch(int fd) override;
    void change(int fd, std::uint32_t events) override; // at once

    // From any thread. No task or callback runs after this has returned (except the one that calls it).
    void stop();

private:
    class Alarm;
    using Ticks = std::vector<std::shared_ptr<Tick>>;

    Loop() = default;
    void run();
    void run_tasks();
    base::Moment tick_all(base::Moment now);
    void wake_by(base::Moment due);
    void interrupt() const;

    sys::Fd epoll_;
    sys::Fd event_;
    sys::ForkShield shield_;
    std::atomic<bool> stopping_{false};
    std::atomic<std::int64_t> wakes_at_{0}; // when the loop will tick by itself
    std::mutex tasks_mutex_;
    std::vector<Task> tasks_;
    std::mutex ticks_mutex_;
    std::shared_ptr<const Ticks> ticks_ = std::make_shared<Ticks>(); // replaced, never changed
    // By descriptor; a round of events works on a copy of the shared pointer, so that a callback may unwatch
    // any.
    std::unordered_map<int, std::shared_ptr<Ready>> watched_;
    std::thread thread_;
    std::atomic<std::thread::id>
        own_id_{}; // said by the thread itself: others may ask before it is known here
};

} // namespace holdfast::supervise
