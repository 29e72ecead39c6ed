// Threads for what the user's code does: started when there is work, ended when there has been none for a
// while. The loop never runs a callback itself, so a slow one holds up no answer; and while one takes its
// time, others are begun by more threads, so it holds up no other callback either, up to the bound.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace holdfast::supervise {

class Workers {
public:
    using Job = std::function<void()>;

    // When none of the waiting jobs was begun for `patience`, one more thread joins: a crowd of quick jobs is
    // done by one thread, nearly in order, and a slow one is overtaken. With no patience, whatever finds no
    // idle thread gets one of its own.
    Workers(std::string name, std::size_t most_threads, std::chrono::milliseconds patience);
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;
    ~Workers(); // finish(), without waiting

    // False when no thread can be had and none is there to come to it: then the job is not taken.
    bool post(Job job);

    // No job is ever dropped: what waits is done, and what is posted later, too, by threads that end when
    // nothing is left. They need nothing of this object, so it may go; a job must own what it touches. Waits
    // until all are done, not beyond `deadline`, and not at all from within a job.
    void finish(std::chrono::steady_clock::time_point deadline);

private:
    struct State;
    static void run(const std::shared_ptr<State>& state, bool watches);
    static void watch(State& state, std::unique_lock<std::mutex>& lock);
    static bool add_thread(const std::shared_ptr<State>& state, bool watches);
    static void call_for_help(const std::shared_ptr<State>& state);
    std::shared_ptr<State> state_;
};

} // namespace holdfast::supervise
