// Waiting for a word in memory to change, with a deadline: what std::atomic::wait lacks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace holdfast::sys {

// Returns when the word is no longer `expected`, or the time is over, or for no reason: look again.
// `at_most`: none waits for ever.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<std::chrono::nanoseconds> at_most) noexcept;
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

} // namespace holdfast::sys
