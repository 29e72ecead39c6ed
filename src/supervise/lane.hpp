// The jobs of one owner on threads that many share: so many of them run at a time, and the rest waits here.
// Whoever is slow holds up its own jobs, and not those of others.
#pragma once

#include "supervise/workers.hpp"

#include <cstddef>
#include <memory>

namespace holdfast::supervise {

class Lane {
public:
    // With a width of one the jobs keep their order.
    Lane(std::size_t width, std::size_t most_waiting);
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    ~Lane(); // drop()

    // False when so many wait already, when no thread can be had, or after drop(): then it is not taken.
    bool post(Workers& workers, Workers::Job job);
    // What waits is forgotten, what runs goes on, and nothing more is taken.
    void drop();

private:
    struct State;
    static void run(const std::shared_ptr<State>& state);
    std::shared_ptr<State> state_;
};

} // namespace holdfast::supervise
