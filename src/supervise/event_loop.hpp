// What supervised processes need of a program's event loop: it watches descriptors, it calls back when a time
// has come, and it runs what other threads post. Loop (loop.hpp) is the library's own, with a thread; a
// program that has a loop of its own implements these functions on it.
//
// Threads: an event loop has one thread, on which all callbacks run, one at a time. Each function says who
// may call it. No callback is called from within the function that it was given to.
#pragma once

#include "base/moment.hpp"
#include "sys/clock.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace holdfast::supervise {

// The clock of all times of an event loop (CLOCK_BOOTTIME).
inline base::Moment now_moment() noexcept {
    return base::Moment{sys::boottime_ns()};
}

class EventLoop {
public:
    using Ready = std::function<void(std::uint32_t events)>; // EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR
    using Task = std::function<void()>;
    // Does what is due and returns when to come again.
    using Tick = std::function<base::Moment(base::Moment now)>;

    class Timer {
    public:
        Timer() = default;
        Timer(const Timer&) = delete;
        Timer& operator=(const Timer&) = delete;
        virtual ~Timer() = default; // any thread; a tick that has begun may still be running afterwards
        // Any thread. The tick is called at `due` at the latest, unless it was to be called earlier already.
        virtual void by(base::Moment due) = 0;
    };

    EventLoop() = default;
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    virtual ~EventLoop() = default;

    // Any thread. Tasks run in the order in which they were posted. A loop that has stopped drops them.
    virtual void post(Task task) = 0;
    // Any thread. The tick may be called before it is due, and must find out what is. It is first called when
    // Timer::by() says so.
    virtual std::unique_ptr<Timer> timer(Tick tick) = 0;
    [[nodiscard]] virtual bool on_own_thread() const noexcept = 0;

    // The loop's thread only. `ready` is called again and again while one of `events` is so; EPOLLERR and
    // EPOLLHUP are always told, also with `events` 0. A descriptor is watched once at a time, and unwatched
    // before it is closed; to unwatch one that is not watched does nothing. A callback may unwatch any
    // descriptor, its own included.
    virtual void watch(int fd, std::uint32_t events, Ready ready) = 0;
    virtual void unwatch(int fd) = 0;
    // Any thread. It may take effect a little later. It counts for the watch that is there when it is called,
    // and never for a later watch of the same number. Does nothing for a descriptor that is not watched.
    virtual void change(int fd, std::uint32_t events) = 0;
};

} // namespace holdfast::supervise
