// Finds the processes that hold the life of a slot.
#pragma once

#include "ending/finder.hpp"

#include <sys/types.h>

#include <functional>
#include <string>

namespace holdfast::ending {

// Finds the processes that carry the write lock on byte 0 of this lock file. `left_alone` is asked about each
// after its pidfd was opened, and leaves it out when it is true. The caller makes sure that they are
// leftovers and not a starter (slot/door.hpp).
class LifeHolders : public Finder {
public:
    LifeHolders(std::string lock_path, std::function<bool(pid_t)> left_alone)
        : path_(std::move(lock_path))
        , left_alone_(std::move(left_alone)) {}

    void find(const Meet& meet) override;
    // The caller waits for the lock itself, and stops asking when it has it. As long as it asks, the lock is
    // held.
    [[nodiscard]] Left left() override { return Left::hidden; }

private:
    std::string path_;
    std::function<bool(pid_t)> left_alone_;
};

} // namespace holdfast::ending
