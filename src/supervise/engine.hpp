// What all supervised processes of a program share: the event loop, the place of their files, the event log,
// and the reaping of their keepers.
#pragma once

#include "registry/events.hpp"
#include "supervise/event_loop.hpp"
#include "supervise/kept_process.hpp"
#include "supervise/workers.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

namespace holdfast::supervise {

struct Engine {
    Engine(KeeperPlace where, std::shared_ptr<EventLoop> on)
        : place(std::move(where))
        , events(place.places.events)
        , loop(std::move(on)) {}

    KeeperPlace place;
    registry::EventLog events;
    std::shared_ptr<EventLoop> loop;
    Workers sweeper{"holdfast-sweep", 4, {}}; // for what takes a while, and waits

    // Keepers that have said their last word and are not reaped yet. The program is done when there are none.
    // The mutex is taken while a process is locked, so lock none while you have it.
    std::mutex rest_mutex;
    std::condition_variable rest_changed; // also when a process was closed for good
    std::size_t unreaped = 0;

    [[nodiscard]] bool all_reaped() {
        const std::scoped_lock lock(rest_mutex);
        return unreaped == 0;
    }
    // On the loop's thread: reaps it when it has ended.
    static void reap_later(const std::shared_ptr<Engine>& engine, sys::PidFd keeper);
};

} // namespace holdfast::supervise
