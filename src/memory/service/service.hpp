// The memory of one home while this process owns it: the store and recall, opened in the background, and a
// small pool for what takes time. Requests may come before the store is open: they wait, and health says how
// far it is.
#pragma once

#include "memory/config/config.hpp"
#include "memory/embed/embedder.hpp"
#include "memory/recall/recall.hpp"
#include "memory/writer/store.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

namespace holdfast::memory {

struct HomePaths {
    std::string home;
    std::string config;
    std::string database;
    std::string skills;
    std::string logs;
    std::string index;
};
HomePaths paths_of(const std::string& home);

struct ServiceOptions {
    std::string home;
    std::string agent;
    // Runs first, on the opening thread: makes this process the one writer of the home, and gives the epoch
    // of that ownership. May wait for another owner to end; what it says meanwhile is shown by health. Empty:
    // not guarded.
    std::function<Result<std::int64_t>(const OnProgress&)> become_owner = {};
    // For a write-ahead log that was cut: what only it had as lines into a file, and from there back into a
    // store. Empty: nothing is saved.
    SaveRows save_rows = {};
    std::function<Result<std::int64_t>(Store&, const std::string& path)> bring_back_rows = {};
    // Vectors by the host, for a home that is configured so. Empty: there is no such host.
    std::shared_ptr<EmbeddingSource> host_embeddings = {};
    OnProgress on_progress = {};          // from the opening thread and the indexer; may be empty
    std::function<void()> on_fenced = {}; // from the writer thread: a newer owner was found in the store
};

class Service {
public:
    // Creates the home's directories (0700) and begins to open the store. Never waits for it.
    static Result<std::unique_ptr<Service>> start(ServiceOptions options);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    // A write. Kept until the store is open, then handed over in the order of arrival.
    void submit(WriteFunction write, WriteDone done);
    // Something that reads. Runs on the pool once the store is open; with `open` false when it could not be
    // opened. Those of one asker run in their order, those of several askers in turns: who asks much waits
    // for itself.
    using Task = std::move_only_function<void(bool open)>;
    void run(const void* asker, Task task);
    // Something that needs no store. Runs on the pool before what reads, also while the store is being
    // opened.
    using Errand = std::move_only_function<void()>;
    void run_now(Errand errand);
    // Something short that has to happen at that moment (monotonic), however busy everybody else is. Not
    // waited for by drain() and close(): what has not happened by then does not.
    struct Timer {
        std::int64_t at_us = 0;
        std::uint64_t number = 0; // 0: none
        auto operator<=>(const Timer&) const = default;
    };
    Timer run_at(std::int64_t at_us, Errand errand);
    // It does not happen, unless it has begun.
    void cancel(const Timer& timer);

    [[nodiscard]] Store& store() const { return *store_; }
    [[nodiscard]] Recall& recall() const { return *recall_; }
    [[nodiscard]] bool is_open() const noexcept { return open_; }
    [[nodiscard]] Progress progress() const;
    // Why the store could not be opened; empty when it could, or is still being opened.
    [[nodiscard]] std::string failure() const;
    // The same with what kind of failure it is.
    [[nodiscard]] Error failed() const;
    [[nodiscard]] const ServiceOptions& options() const noexcept { return options_; }
    [[nodiscard]] const HomeConfig& config() const noexcept { return config_; }
    // What is wrong with config.json; empty: nothing.
    [[nodiscard]] std::string config_problem() const;
    // Null: there are no embeddings, or not yet.
    [[nodiscard]] const Embedder* embedder() const noexcept { return embedder_ready_; }
    [[nodiscard]] const HomePaths& paths() const noexcept { return paths_; }
    [[nodiscard]] std::int64_t uptime_ms() const noexcept;
    // From now on every write is refused: the home was lost to another process.
    void fence();
    // Writes, tasks and errands that are not done yet.
    [[nodiscard]] std::size_t pending() const;
    // Waits until nothing is pending, at most this long. False: something still is.
    bool drain(std::int64_t at_most_ms);
    // Finishes what was submitted, closes the store. Idempotent.
    void close();

private:
    // What one asker waits for.
    struct Lane {
        const void* asker;
        std::deque<Task> tasks;
    };
    struct EarlyWrite {
        WriteFunction write;
        WriteDone done;
    };
    explicit Service(ServiceOptions options);
    void open();
    Result<void> open_store();
    Result<void> bring_back_rows(Store& store);
    void tell(const Progress& progress);
    void start_embedder();
    void embeddings_are_off(const Error& why);
    void worker();
    void clock();
    void want_worker();   // with the mutex held
    Errand next_errand(); // with the mutex held; empty: there is nothing to do
    void finished_one();

    ServiceOptions options_;
    HomePaths paths_;
    HomeConfig config_;
    std::string config_problem_;
    std::int64_t started_ms_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<Recall> recall_;
    std::atomic<Recall*> recall_ready_ = nullptr;
    std::unique_ptr<Embedder> embedder_;
    std::atomic<Embedder*> embedder_ready_ = nullptr;
    std::atomic<bool> open_ = false;

    mutable std::mutex mutex_;
    std::condition_variable changed_; // tasks, opening, stopping
    std::condition_variable idle_;
    Progress progress_;
    Error failure_{Errc::closed, "", 0};
    std::deque<EarlyWrite> early_;
    std::list<Lane> lanes_; // none is empty; the first one's turn is next
    std::unordered_map<const void*, std::list<Lane>::iterator> lane_of_;
    std::size_t tasks_ = 0; // in all lanes
    std::deque<Errand> errands_;
    std::map<Timer, Errand> timers_;
    std::uint64_t last_timer_ = 0;
    std::condition_variable first_timer_changed_;
    std::size_t pending_ = 0;
    bool settled_ = false; // open, or failed for good
    bool fence_asked_ = false;
    bool stopping_ = false;
    std::vector<std::thread> workers_;
    std::size_t idle_workers_ = 0;
    std::thread clock_; // made with the first timer
    std::thread opener_;
};

} // namespace holdfast::memory
