// What a rule answers: a value, or why the request cannot be carried out. A refusal changes nothing and is no
// error: the transaction goes on without it.
//
// A write may run again after it was rolled back with others of its batch. So a function that changes
// something takes what was said as const, and gives what became of it as a new value.
#pragma once

#include "holdfast/result.hpp"

#include <cstdint>
#include <string>

namespace holdfast::memory::domain {

enum class Why : std::uint8_t {
    granted, // it is not refused
    no_session,
    no_episode,
    no_trace,
    no_policy,
    no_world_model,
    no_skill,
    conflict,
    too_long,
};

struct Refusal {
    Why why = Why::granted;
    std::string message = {};
    explicit operator bool() const noexcept { return why != Why::granted; }
};

template <class Value>
struct Answer {
    Value value = {};
    Refusal refusal = {};
};

Refusal no_session(const std::string& id);
Refusal no_episode(const std::string& id);
Refusal no_trace(const std::string& id);

} // namespace holdfast::memory::domain
