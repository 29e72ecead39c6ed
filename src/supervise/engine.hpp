// What all helpers of a supervisor share: the loop, the threads for callbacks, and the places.
#pragma once

#include "registry/events.hpp"
#include "supervise/kept_process.hpp"
#include "supervise/loop.hpp"
#include "supervise/workers.hpp"

#include <condition_variable>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

namespace holdfast::supervise {

struct Engine {
    explicit Engine(KeeperPlace where)
        : place(std::move(where))
        , events(place.places.state) {}

    KeeperPlace place;
    registry::EventLog events;
    std::shared_ptr<Loop> loop; // stopped by Core
    // Answers are never dropped: there are at most as many as requests were admitted.
    Workers answers{"holdfast-answer", 1, std::numeric_limits<std::size_t>::max()};
    Workers notes{"holdfast-notes", 1, 1'000'000};
    Workers handlers{"holdfast-serve", 16, 65'536};
    Workers sweeper{"holdfast-sweep", 4, std::numeric_limits<std::size_t>::max()};

    // Keepers that have said their last word and are not reaped yet. The supervisor is done when there are
    // none.
    std::mutex rest_mutex;
    std::condition_variable rest_changed;
    std::size_t unreaped = 0;

    // On the loop's thread: reaps it when it has ended.
    static void reap_later(const std::shared_ptr<Engine>& engine, sys::PidFd keeper);
};

} // namespace holdfast::supervise
