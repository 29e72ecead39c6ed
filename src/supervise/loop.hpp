// The one thread of a supervisor: it waits for descriptors, for the time, and for what other threads post to
// it. Nothing it knows keeps a client alive: callbacks hold what they need weakly.
#pragma once

#include "base/moment.hpp"
#include "holdfast/result.hpp"
#include "sys/fd.hpp"
#include "sys/fork_shield.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace holdfast::supervise {

base::Moment now_moment() noexcept; // of the clock that all deadlines of a supervisor are on

class Loop {
public:
    using Ready = std::function<void(std::uint32_t events)>; // EPOLLIN, EPOLLOUT, EPOLLHUP, ...
    using Task = std::function<void()>;
    // What is due is done, and the next time is returned.
    using Tick = std::function<base::Moment(base::Moment now)>;

    // Its thread keeps it alive while it runs, so whoever runs on that thread may drop everything else.
    // stop() it. Errors: no descriptor or no thread (EAGAIN) to be had.
    static Result<std::shared_ptr<Loop>> start(Tick tick);
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;
    ~Loop();

    // From any thread. What is posted runs on the loop's thread, in order; after stop() it is dropped.
    void post(Task task);
    // The loop will tick at `due` at the latest.
    void wake_by(base::Moment due);
    // No task or callback runs after this has returned (except the one that calls it).
    void stop();
    [[nodiscard]] bool on_own_thread() const noexcept {
        return own_id_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    // On the loop's thread only. The descriptor must be unwatched before it is closed.
    void watch(int fd, std::uint32_t events, Ready ready);
    void unwatch(int fd);
    // From any thread, for a watched descriptor.
    void change(int fd, std::uint32_t events) const;

private:
    Loop() = default;
    void run();
    void run_tasks();
    void interrupt() const;

    sys::Fd epoll_;
    sys::Fd event_;
    sys::ForkShield shield_;
    Tick tick_;
    std::atomic<bool> stopping_{false};
    std::atomic<std::int64_t> wakes_at_{0}; // when the loop will tick by itself
    std::mutex tasks_mutex_;
    std::vector<Task> tasks_;
    // By descriptor; a round of events works on a copy of the shared pointer, so that a callback may unwatch
    // any.
    std::unordered_map<int, std::shared_ptr<Ready>> watched_;
    std::thread thread_;
    std::atomic<std::thread::id>
        own_id_{}; // said by the thread itself: others may ask before it is known here
};

} // namespace holdfast::supervise
