// What all helpers of a supervisor share: the loop, the threads for callbacks, and the places.
#pragma once

#include "registry/events.hpp"
#include "supervise/kept_process.hpp"
#include "supervise/loop.hpp"
#include "supervise/workers.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

namespace holdfast::supervise {

struct Engine {
    explicit Engine(KeeperPlace where)
        : place(std::move(where))
        , events(place.places.events) {}

    KeeperPlace place;
    registry::EventLog events;
    std::shared_ptr<Loop> loop; // stopped by Core
    // Who runs the host's code. How many of each kind may take their time at once is said in supervisor.hpp.
    Workers answers{"holdfast-answer", 64, std::chrono::milliseconds(2)};
    Workers passing{"holdfast-settle", 1, std::chrono::milliseconds(2)}; // answers that are only passed on
    Workers notes{"holdfast-notes", 64, std::chrono::milliseconds(2)};   // in a Lane per hold
    Workers handlers{"holdfast-serve", 256, {}};                         // in a Lane per helper
    Workers sweeper{"holdfast-sweep", 4, {}};

    // Keepers that have said their last word and are not reaped yet. The supervisor is done when there are
    // none.
    std::mutex rest_mutex;
    std::condition_variable rest_changed;
    std::size_t unreaped = 0;

    // On the loop's thread: reaps it when it has ended.
    static void reap_later(const std::shared_ptr<Engine>& engine, sys::PidFd keeper);
};

} // namespace holdfast::supervise
