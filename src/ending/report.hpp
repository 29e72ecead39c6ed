// The result of ending processes: how each of them ended, and which live on.
#pragma once

#include "holdfast/values.hpp"
#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace holdfast::ending {

enum class Fate {
    alive,    // it lives, and KILL was not sent
    ended,    // upon TERM, or by itself
    killed,   // upon KILL
    refused,  // it lives on: the kernel does not let us signal it
    survived, // it lives on after KILL
};

struct Member {
    pid_t pid = 0;
    std::size_t of = 0; // Found::of, or that of the process it is below
    Fate fate = Fate::alive;
    int refused = 0; // the errno with which the kernel refused the last signal; 0: it did not
};

struct Survivor {
    sys::PidFd process;
    std::size_t of = 0;
};

struct Report {
    std::vector<Member> members; // in the order in which they were found
    std::vector<Survivor> survivors;
    bool unseen = false; // a process was still there at the end, and no finder could show it

    // The survivors with their commands.
    [[nodiscard]] std::vector<Leftover> leftovers() const;
};

} // namespace holdfast::ending
