#include "memory/service/service.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "memory/embed/http_embeddings.hpp"
#include "memory/ids/ids.hpp"
#include "sys/errors.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::size_t most_workers = 4;

Result<void> make_directory(const std::string& path) {
    for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
        const auto part = path.substr(0, at);
        if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
            return sys::fail_sys(cat("create ", part));
        if (at == path.npos)
            return {};
    }
}

} // namespace

HomePaths paths_of(const std::string& home) {
    return {home,           home + "/config.json", home + "/data/memory.db", home + "/skills",
            home + "/logs", home + "/data/index"};
}

Service::Service(ServiceOptions options)
    : options_(std::move(options))
    , paths_(paths_of(options_.home))
    , started_ms_(monotonic_ms()) {}

Result<std::unique_ptr<Service>> Service::start(ServiceOptions options) {
    std::unique_ptr<Service> service(new Service(std::move(options)));
    for (const auto& path :
         {service->paths_.home, service->paths_.home + "/data", service->paths_.skills, service->paths_.logs})
        if (auto made = make_directory(path); !made)
            return std::unexpected(std::move(made.error()));
    if (auto config = read_config(service->paths_.config); config)
        service->config_ = std::move(*config);
    else
        service->config_problem_ = std::move(config.error().message);
    service->opener_ = std::thread([raw = service.get()] { raw->open(); });
    return service;
}

Service::~Service() {
    close();
}

std::int64_t Service::uptime_ms() const noexcept {
    return monotonic_ms() - started_ms_;
}

void Service::tell(const Progress& progress) {
    {
        const std::lock_guard lock(mutex_);
        progress_ = progress;
    }
    if (options_.on_progress)
        options_.on_progress(progress);
}

Result<void> Service::open_store() {
    const OnProgress telling = [this](const Progress& progress) { tell(progress); };
    StoreOptions store_options;
    store_options.path = paths_.database;
    if (options_.become_owner) {
        auto epoch = options_.become_owner(telling);
        if (!epoch)
            return std::unexpected(std::move(epoch.error()));
        store_options.least_epoch = *epoch;
    }
    store_options.on_changes = [this](const RowChanges& changes) {
        if (auto* recall = recall_ready_.load())
            recall->committed(changes);
        if (auto* embedder = embedder_ready_.load()) {
            for (const auto row : changes.went)
                embedder->forget(row);
            embedder->wake();
        }
    };
    store_options.on_fenced = options_.on_fenced;
    store_options.save_rows = options_.save_rows;
    auto store = Store::open(store_options, telling);
    if (!store)
        return std::unexpected(std::move(store.error()));
    // An empty memory that says nothing would be taken for a loss; whoever started us hears what happened.
    if ((*store)->set_aside_now())
        std::fprintf(
            stderr,
            "holdfast-memory: the database was corrupt; it is kept as %s, and a new one was begun. What can "
            "still be read is brought over by: holdfast memory import %s --home %s\n",
            base::printable((*store)->set_aside()).c_str(), base::printable((*store)->set_aside()).c_str(),
            base::printable(paths_.home).c_str());
    if (auto back = bring_back_rows(**store); !back)
        return back;
    auto recall = Recall::open(**store, paths_.index, telling);
    if (!recall)
        return std::unexpected(std::move(recall.error()));
    {
        const std::lock_guard lock(mutex_);
        store_ = std::move(*store);
        if (fence_asked_)
            store_->fence();
    }
    recall_ = std::move(*recall);
    start_embedder();
    recall_ready_ = recall_.get();
    return {};
}

// What an owner whose write-ahead log was cut had still in its memory. Before anybody is served, or not at
// all: stored later, it would undo what was changed and forgotten in between.
Result<void> Service::bring_back_rows(Store& store) {
    if (!options_.bring_back_rows)
        return {};
    for (const auto& path : rows_to_bring_back(paths_.database)) {
        auto changes = options_.bring_back_rows(store, path);
        auto done = changes ? rows_are_brought_back(path, *changes) : std::unexpected(changes.error());
        if (!done)
            return fail(done.error().code,
                        cat("what an earlier owner saved in ", path,
                            " when its write-ahead log was cut could not be stored again: ",
                            done.error().message, ". To go on without it, move that file away"),
                        done.error().sys);
        store.look_for_log_losses();
        std::fprintf(
            stderr,
            "holdfast-memory: what an earlier owner saved when its write-ahead log was cut is stored "
            "again: %lld changes (%s)\n",
            static_cast<long long>(*changes), base::printable(path).c_str());
    }
    return {};
}

void Service::embeddings_are_off(const Error& why) {
    const std::lock_guard lock(mutex_);
    config_problem_ = cat("embeddings are off: ", why.message);
}

void Service::start_embedder() {
    auto source = options_.host_embeddings;
    if (!config_.embeddings_host || !source) {
        if (config_.embeddings_endpoint.empty())
            return;
        auto target = parse_http(config_.embeddings_endpoint);
        if (!target)
            return embeddings_are_off(target.error());
        source = std::make_shared<HttpEmbeddings>(std::move(*target), config_.embeddings_key);
    }
    auto embedder = Embedder::start(*store_, paths_.home + "/data/vectors", config_, std::move(source));
    if (!embedder)
        return embeddings_are_off(embedder.error());
    embedder_ = std::move(*embedder);
    embedder_ready_ = embedder_.get();
    recall_->set_channel(
        [this](const std::string& question, std::size_t most, std::int64_t deadline_us,
               const Recall::AdmitRow& admit, bool& cut) {
            std::vector<Recall::Like> alike;
            for (const auto& hit : embedder_->search(question, most, deadline_us, admit, cut))
                alike.push_back({hit.row, hit.likeness});
            return alike;
        },
        embedder_->weight());
}

std::string Service::config_problem() const {
    const std::lock_guard lock(mutex_);
    return config_problem_;
}

void Service::open() {
    auto opened = open_store();
    if (!opened)
        tell({Phase::failed, 0, 0, opened.error().message});
    std::deque<EarlyWrite> refused;
    {
        const std::lock_guard lock(mutex_);
        if (opened) {
            for (auto& write : early_)
                store_->submit(std::move(write.write), std::move(write.done));
            early_.clear();
            open_ = true;
        } else {
            failure_ = opened.error();
            refused.swap(early_);
        }
        settled_ = true;
        while (workers_.size() < std::min(most_workers, tasks_))
            workers_.emplace_back([this] { worker(); });
        changed_.notify_all();
    }
    // What waited for the store is told why there is none.
    for (auto& write : refused)
        write.done(fail(Errc::closed, opened.error().message));
}

void Service::finished_one() {
    const std::lock_guard lock(mutex_);
    if (--pending_ == 0)
        idle_.notify_all();
}

void Service::submit(WriteFunction write, WriteDone done) {
    WriteDone counted = [this, done = std::move(done)](Result<void> result) mutable {
        done(std::move(result));
        finished_one();
    };
    std::string failure;
    {
        const std::lock_guard lock(mutex_);
        ++pending_;
        if (!settled_) {
            early_.push_back({std::move(write), std::move(counted)});
            return;
        }
        failure = failure_.message;
    }
    if (open_)
        store_->submit(std::move(write), std::move(counted));
    else
        counted(fail(Errc::closed, failure));
}

void Service::want_worker() {
    if (idle_workers_ < tasks_ + errands_.size() && workers_.size() < most_workers)
        workers_.emplace_back([this] { worker(); });
    changed_.notify_one();
}

void Service::run(const void* asker, Task task) {
    const std::lock_guard lock(mutex_);
    ++pending_;
    ++tasks_;
    const auto known = lane_of_.find(asker);
    if (known != lane_of_.end()) {
        known->second->tasks.push_back(std::move(task));
    } else {
        lanes_.push_back({asker, {}});
        lanes_.back().tasks.push_back(std::move(task));
        lane_of_.emplace(asker, std::prev(lanes_.end()));
    }
    if (settled_) // or nobody could do anything about it yet
        want_worker();
}

void Service::run_now(Errand errand) {
    const std::lock_guard lock(mutex_);
    ++pending_;
    errands_.push_back(std::move(errand));
    want_worker();
}

Service::Errand Service::next_errand() {
    if (!errands_.empty()) {
        auto errand = std::move(errands_.front());
        errands_.pop_front();
        return errand;
    }
    if (!settled_ || lanes_.empty())
        return {};
    const auto lane = lanes_.begin();
    auto task = std::move(lane->tasks.front());
    lane->tasks.pop_front();
    --tasks_;
    if (lane->tasks.empty()) {
        lane_of_.erase(lane->asker);
        lanes_.erase(lane);
    } else {
        lanes_.splice(lanes_.end(), lanes_, lane);
    }
    return [task = std::move(task), open = open_.load()]() mutable { task(open); };
}

void Service::worker() {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (auto errand = next_errand()) {
            lock.unlock();
            errand();
            errand = nullptr;
            finished_one();
            lock.lock();
            continue;
        }
        if (stopping_)
            return;
        ++idle_workers_;
        changed_.wait(lock);
        --idle_workers_;
    }
}

Service::Timer Service::run_at(std::int64_t at_us, Errand errand) {
    const std::lock_guard lock(mutex_);
    const Timer timer{at_us, ++last_timer_};
    timers_.emplace(timer, std::move(errand));
    if (!clock_.joinable())
        clock_ = std::thread([this] { clock(); });
    else if (timers_.begin()->first == timer)
        first_timer_changed_.notify_one();
    return timer;
}

void Service::cancel(const Timer& timer) {
    std::map<Timer, Errand>::node_type cancelled; // what it holds ends without the lock
    const std::lock_guard lock(mutex_);
    cancelled = timers_.extract(timer);
}

void Service::clock() {
    constexpr std::int64_t longest_wait_us = 3'600'000'000; // a moment may be as far as numbers go
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (timers_.empty()) {
            first_timer_changed_.wait(lock);
            continue;
        }
        const auto left = timers_.begin()->first.at_us - monotonic_us();
        if (left > 0) {
            first_timer_changed_.wait_for(lock, std::chrono::microseconds(std::min(left, longest_wait_us)));
            continue;
        }
        auto due = timers_.extract(timers_.begin());
        lock.unlock();
        due.mapped()();
        due = {};
        lock.lock();
    }
}

void Service::fence() {
    const std::lock_guard lock(mutex_);
    fence_asked_ = true;
    if (store_)
        store_->fence();
}

Progress Service::progress() const {
    const std::lock_guard lock(mutex_);
    return progress_;
}

std::string Service::failure() const {
    return failed().message;
}

Error Service::failed() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

std::size_t Service::pending() const {
    const std::lock_guard lock(mutex_);
    return pending_;
}

bool Service::drain(std::int64_t at_most_ms) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, std::chrono::milliseconds(at_most_ms), [&] { return pending_ == 0; });
}

void Service::close() {
    if (opener_.joinable())
        opener_.join();
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
        first_timer_changed_.notify_all();
    }
    for (auto& worker : workers_)
        if (worker.joinable())
            worker.join();
    if (clock_.joinable())
        clock_.join();
    timers_.clear();
    if (embedder_)
        embedder_->close();
    // The indexer reads from the store, so it stops first. What is committed after that is indexed at the
    // next start.
    if (recall_)
        recall_->close();
    if (store_)
        store_->close(); // everything submitted is committed and answered
}

} // namespace holdfast::memory
