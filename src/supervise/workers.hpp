// Threads for what the user's code does: started when there is work, ended when there has been none for a
// while. The loop never runs a callback itself, so a slow one holds up no answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::supervise {

class Workers {
public:
    using Job = std::function<void()>;

    // One thread keeps the order of the jobs.
    Workers(std::string name, std::size_t most_threads, std::size_t most_waiting);
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;
    ~Workers(); // stop()

    // False when so many wait already, when no thread can be had, or after stop().
    bool post(Job job);

    // Drops what waits. What runs is given a moment to end; a callback that takes longer is left to end by
    // itself, so it must own what it touches. Called from within a job, it does not wait.
    void stop(std::chrono::milliseconds patience = std::chrono::milliseconds(1000));

private:
    struct State;
    static void run(const std::shared_ptr<State>& state);
    std::shared_ptr<State> state_;
};

} // namespace holdfast::supervise
