#include "supervise/workers.hpp"

#include "sys/signal_mask.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::supervise {

namespace {
constexpr std::chrono::seconds idle_life{5};
}

struct Workers::State {
    std::string name;
    std::size_t most_threads = 1;
    std::chrono::milliseconds patience{0};
    std::mutex mutex;
    std::condition_variable work;
    std::condition_variable pulse; // of the one who watches
    std::condition_variable quiet;
    std::deque<Job> jobs;
    std::uint64_t begun = 0;  // jobs
    std::size_t idle = 0;     // threads that will take the next job, those on their way to it included
    std::size_t watching = 0; // at most one, who sees to it that what waits is begun
    std::vector<std::thread::id> threads;
    bool finishing = false;
};

Workers::Workers(std::string name, std::size_t most_threads, std::chrono::milliseconds patience)
    : state_(std::make_shared<State>()) {
    state_->name = std::move(name);
    state_->most_threads = most_threads;
    state_->patience = patience;
}

Workers::~Workers() {
    finish({});
}

bool Workers::add_thread(const std::shared_ptr<State>& state, bool watches) {
    auto thread = sys::start_thread([state, watches] { run(state, watches); });
    if (!thread)
        return false;
    state->threads.push_back(thread->get_id());
    thread->detach();
    ++(watches ? state->watching : state->idle);
    return true;
}

// Jobs wait. Those that run may take long, or be done in a moment: who has patience lets somebody watch.
void Workers::call_for_help(const std::shared_ptr<State>& state) {
    if (state->threads.size() >= state->most_threads)
        return;
    if (state->patience.count() == 0) {
        if (state->jobs.size() > state->idle)
            add_thread(state, false);
    } else if (state->idle == 0 && state->watching == 0) {
        add_thread(state, true);
    }
}

void Workers::watch(State& state, std::unique_lock<std::mutex>& lock) {
    std::uint64_t seen = 0;
    do {
        seen = state.begun;
        state.pulse.wait_for(lock, state.patience);
    } while (!state.jobs.empty() && state.begun != seen);
    --state.watching;
    ++state.idle;
}

void Workers::run(const std::shared_ptr<State>& state, bool watches) {
    ::pthread_setname_np(::pthread_self(), state->name.c_str());
    std::unique_lock lock(state->mutex);
    if (watches)
        watch(*state, lock);
    for (;;) {
        state->work.wait_for(lock, idle_life, [&] { return state->finishing || !state->jobs.empty(); });
        --state->idle;
        if (state->jobs.empty())
            break;
        Job job = std::move(state->jobs.front());
        state->jobs.pop_front();
        ++state->begun;
        if (!state->jobs.empty())
            call_for_help(state);
        lock.unlock();
        job();
        job = nullptr; // what it holds is let go of outside the lock
        lock.lock();
        ++state->idle;
    }
    std::erase(state->threads, std::this_thread::get_id());
    state->quiet.notify_all();
}

bool Workers::post(Job job) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->threads.empty() && !add_thread(state_, false))
        return false;
    state_->jobs.push_back(std::move(job));
    state_->work.notify_one();
    call_for_help(state_);
    return true;
}

void Workers::finish(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(state_->mutex);
    state_->finishing = true;
    state_->work.notify_all();
    state_->pulse.notify_all();
    const bool inside =
        std::ranges::find(state_->threads, std::this_thread::get_id()) != state_->threads.end();
    if (!inside)
        state_->quiet.wait_until(lock, deadline, [this] { return state_->threads.empty(); });
}

} // namespace holdfast::supervise
