// An Ender finds processes by finders. Each is a small file of its own.
#pragma once

#include "sys/pidfd.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace holdfast::ending {

struct Found {
    // The finder opens the pidfd first. Only then it makes sure that this is a process that is meant.
    sys::PidFd process;
    std::size_t of = 0;            // the caller's number for the thing that this process is a part of
    std::uint64_t start_ticks = 0; // only needed without Plan::hold
};

// A finder's answer to the question whether the last find() may have missed a process.
enum class Left {
    nobody,
    unclear, // perhaps one that is in the middle of an exec or a fork: another walk tells
    hidden,  // a process is there, and it cannot be found
};

class Finder {
public:
    Finder() = default;
    Finder(const Finder&) = default;
    Finder(Finder&&) = default;
    Finder& operator=(const Finder&) = default;
    Finder& operator=(Finder&&) = default;
    virtual ~Finder() = default;

    using Meet = std::function<void(Found)>;
    // Calls `meet` for each process at the moment it is found, and not after the walk. A process that forks
    // and dies within a millisecond is only reached while it is being looked at.
    virtual void find(const Meet& meet) = 0;
    [[nodiscard]] virtual Left left() { return Left::nobody; }
    // The number of walks in a row that have to find nobody before it is certain that nobody is there.
    [[nodiscard]] virtual int walks_to_be_sure() const { return 1; }
};

} // namespace holdfast::ending
