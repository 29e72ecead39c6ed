// Deadlines by number, the nearest first. What was finished in time is forgotten lazily, and the memory for
// it is given back before it is more than the live ones need.
#pragma once

#include "base/moment.hpp"

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace holdfast::rpc {

class Deadlines {
public:
    // Each number once. `never` is not kept.
    void add(base::Moment due, std::uint64_t number);
    // It is finished. Says nothing of numbers that were never added.
    void forget(std::uint64_t number);
    // The nearest deadline of those not finished.
    [[nodiscard]] base::Moment next();
    // Takes one number whose time has come, or returns 0.
    std::uint64_t take_due(base::Moment now);
    void clear();

private:
    void drop_finished();

    std::vector<std::pair<base::Moment, std::uint64_t>> heap_;
    std::unordered_set<std::uint64_t> live_;
};

} // namespace holdfast::rpc
