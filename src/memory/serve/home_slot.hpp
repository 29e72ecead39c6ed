// The slot of a home as its memory helper uses it. Thread-safe: the opening thread tells, the serving thread
// asks.
#pragma once

#include "holdfast/slot.hpp"
#include "memory/writer/store.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::memory {

inline constexpr const char* home_slot_name = "memory"; // the slot's name inside a home

class HomeSlot {
public:
    // `cancel_fd` ends a wait.
    HomeSlot(std::string home, std::vector<std::string> argv, int cancel_fd);

    // At once: true when this process owns the home now, false when another one does.
    Result<bool> try_take();
    // Waits for the owner to go, for as long as it takes. The epoch of the ownership.
    Result<std::int64_t> take(const OnProgress& progress);

    [[nodiscard]] bool owned() const noexcept { return owned_; } // never waits
    // False when the lock file was wiped away or replaced: the home may be another process's.
    [[nodiscard]] bool still_mine();

    // Into the record: the phase with its numbers, in a sentence too.
    void tell(const Progress& progress);
    void set_address(const std::string& address);
    void draining();
    void release();

private:
    std::string home_;
    std::vector<std::string> argv_;
    int cancel_fd_;
    mutable std::mutex mutex_;
    std::optional<Ownership> ownership_;
    std::atomic<bool> owned_ = false;
    std::uint64_t steps_ = 0;
};

} // namespace holdfast::memory
