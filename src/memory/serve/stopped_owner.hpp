// For a process whose client waits for the owner of the home: notices that the owner is stopped, and wakes
// it.
//
// A stopped owner is alive and holds its locks, the store and the pipes of all its clients, perhaps in the
// middle of a read from one of them. Nobody else may go on in its place as long as it can wake up; so it is
// continued, which costs nobody anything, rather than killed. It is known by the kernel's word (state T of
// the process that holds the lock) and never by time: one that is slow, or that a debugger holds, is left
// alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::memory {

class StoppedOwner {
public:
    // How often to call look(), and the longest that one look takes. The kernel tells nobody but a parent of
    // a process that stops, so somebody has to ask.
    static constexpr std::chrono::milliseconds look_every{500};

    explicit StoppedOwner(std::string home);

    // To be called while somebody waits. An owner that is found stopped twice, at least `settle_ms` apart, is
    // continued; what was done, or why it could not be, is said on stderr once per stop. Calls that come too
    // early do nothing.
    void look();
    // Nobody waits at the moment: who is stopped may stay so.
    void nobody_waits() noexcept { seen_epoch_ = 0; }

private:
    static constexpr std::int64_t settle_ms = 400;
    std::string home_;
    std::int64_t looked_ms_ = 0;
    std::int64_t seen_ms_ = 0;        // when it was first found stopped
    std::uint64_t seen_epoch_ = 0;    // 0: it was not
    std::uint64_t refused_epoch_ = 0; // of one that may not be continued: said already
};

} // namespace holdfast::memory
