#include "supervise/workers.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
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
    std::size_t most_waiting = 0;
    std::mutex mutex;
    std::condition_variable work;
    std::condition_variable quiet;
    std::deque<Job> jobs;
    std::size_t idle = 0;
    std::vector<std::thread::id> threads;
    bool stopping = false;
};

Workers::Workers(std::string name, std::size_t most_threads, std::size_t most_waiting)
    : state_(std::make_shared<State>()) {
    state_->name = std::move(name);
    state_->most_threads = most_threads;
    state_->most_waiting = most_waiting;
}

Workers::~Workers() {
    stop();
}

void Workers::run(const std::shared_ptr<State>& state) {
    ::pthread_setname_np(::pthread_self(), state->name.c_str());
    std::unique_lock lock(state->mutex);
    for (;;) {
        ++state->idle;
        state->work.wait_for(lock, idle_life, [&] { return state->stopping || !state->jobs.empty(); });
        --state->idle;
        if (state->stopping || state->jobs.empty())
            break;
        Job job = std::move(state->jobs.front());
        state->jobs.pop_front();
        lock.unlock();
        job();
        job = nullptr; // what it holds is let go of outside the lock
        lock.lock();
    }
    std::erase(state->threads, std::this_thread::get_id());
    state->quiet.notify_all();
}

bool Workers::post(Job job) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->stopping || state_->jobs.size() >= state_->most_waiting)
        return false;
    if (state_->jobs.size() >= state_->idle && state_->threads.size() < state_->most_threads) {
        sigset_t all;
        sigset_t before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before); // the host's signals are for the host's threads
        bool started = false;
        try {
            std::thread thread([state = state_] { run(state); });
            state_->threads.push_back(thread.get_id());
            thread.detach();
            started = true;
        } catch (const std::system_error&) {
            started = !state_->threads.empty(); // those that run will come to it
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (!started)
            return false;
    }
    state_->jobs.push_back(std::move(job));
    state_->work.notify_one();
    return true;
}

void Workers::stop(std::chrono::milliseconds patience) {
    std::deque<Job> dropped; // destroyed outside the lock
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    dropped.swap(state_->jobs);
    state_->work.notify_all();
    const bool inside =
        std::ranges::find(state_->threads, std::this_thread::get_id()) != state_->threads.end();
    if (!inside)
        state_->quiet.wait_for(lock, patience, [this] { return state_->threads.empty(); });
    lock.unlock();
}

} // namespace holdfast::supervise
