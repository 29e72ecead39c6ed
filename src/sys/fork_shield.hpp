// What a fork of the host must not keep: descriptors whose other end waits for the last copy to be closed
// (pipes to a helper, the socket to its keeper). The child of a fork closes its copies at once, before
// anything else runs in it; the parent keeps everything.
//
// Process-wide, because a fork is. Objects that hold such descriptors must not be destroyed in the child: the
// numbers may mean something else there by then. They ask is_fork() and stay as they are.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace holdfast::sys {

// How many forks lie between this process and the one in which the program was loaded. An object that
// remembers it knows by comparing whether it has been carried into a child.
std::uint64_t fork_depth() noexcept;

class ForkShield {
public:
    // No fork can happen while one of these lives: descriptors are made and named under it, so that none
    // slips through in between. Not recursive. Take no other lock of the project inside.
    class NoFork {
    public:
        NoFork();

    private:
        std::unique_lock<std::mutex> lock_;
    };

    ForkShield() = default;
    ForkShield(const ForkShield&) = delete;
    ForkShield& operator=(const ForkShield&) = delete;
    ~ForkShield(); // forgets its descriptors; to be destroyed before they are closed

    void add(int fd, const NoFork&);
    void forget(int fd); // it is about to be closed here

private:
    std::vector<int> fds_;
};

} // namespace holdfast::sys
