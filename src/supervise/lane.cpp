#include "supervise/lane.hpp"

#include <deque>
#include <mutex>
#include <utility>

namespace holdfast::supervise {

struct Lane::State {
    std::size_t width = 1;
    std::size_t most_waiting = 0;
    std::mutex mutex;
    std::deque<Workers::Job> jobs;
    std::size_t running = 0; // threads that take jobs from here, or are about to
    bool dropped = false;
};

Lane::Lane(std::size_t width, std::size_t most_waiting)
    : state_(std::make_shared<State>()) {
    state_->width = width;
    state_->most_waiting = most_waiting;
}

Lane::~Lane() {
    drop();
}

void Lane::run(const std::shared_ptr<State>& state) {
    std::unique_lock lock(state->mutex);
    while (!state->jobs.empty()) {
        Workers::Job job = std::move(state->jobs.front());
        state->jobs.pop_front();
        lock.unlock();
        job();
        job = nullptr;
        lock.lock();
    }
    --state->running;
}

bool Lane::post(Workers& workers, Workers::Job job) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->dropped || state_->jobs.size() >= state_->most_waiting)
        return false;
    if (state_->running < state_->width) {
        if (workers.post([state = state_] { run(state); }))
            ++state_->running;
        else if (state_->running == 0)
            return false;
    }
    state_->jobs.push_back(std::move(job));
    return true;
}

void Lane::drop() {
    std::deque<Workers::Job> dropped; // destroyed outside the lock
    const std::scoped_lock lock(state_->mutex);
    state_->dropped = true;
    dropped.swap(state_->jobs);
}

} // namespace holdfast::supervise
