// The store of one home: a SQLite database that one process writes.
//
// Writes: a function is handed to the writer thread, runs inside a transaction together with the others that
// wait at that moment (group commit), and its `done` is called after the commit is on disk, so what was
// answered is durable. Every transaction first compares the epoch in the store with the one this owner raised
// at open, and the file at its place with the one that is open: an older owner that was paused and replaced,
// or whose files were taken away, gets Errc::superseded and cannot write. So does one whose write-ahead log
// was cut or taken away: before each transaction, after each commit and before each read for somebody the log
// at its place is compared with what was written (log_watch.hpp); where they differ nothing is answered any
// more, and what can be saved is saved (log_loss.hpp). Reads: each borrows a connection; they see the last
// commit and never wait for the writer. Checkpoints run on their own thread and never hold up a commit or a
// read.
#pragma once

#include "database/log_watch.hpp"
#include "database/transaction.hpp"
#include "memory/repository/state_row.hpp"
#include "memory/repository/wipe.hpp"
#include "memory/repository/write_context.hpp"
#include "memory/writer/log_loss.hpp"

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::memory {

enum class Phase { opening, recovering, migrating, indexing, ready, failed };
std::string_view name_of(Phase phase) noexcept;

struct Progress {
    Phase phase = Phase::opening;
    std::uint64_t done = 0; // bytes of the WAL, migrations, or rows indexed
    std::uint64_t total = 0;
    std::string detail; // one sentence, may be empty
};
using OnProgress = std::function<void(const Progress&)>;

using WriteFunction = std::move_only_function<Result<void>(WriteContext&)>;
using WriteDone = std::move_only_function<void(Result<void>)>;

struct StoreOptions {
    std::string path;
    std::int64_t least_epoch = 0;         // of the slot: the store's epoch will be at least this
    std::size_t checkpoint_frames = 1000; // start a background checkpoint when the WAL has this many pages
    std::size_t reset_frames = 16 * 1024; // when a WAL got this long, the writer helps to start it anew
    std::function<void(const RowChanges&)> on_changes; // on the writer thread, after the commit
    std::function<void()>
        on_fenced;      // when a newer owner was found in the store, or its files are not its own
    SaveRows save_rows; // on the writer thread, when the log was cut
};

class Store {
public:
    // Opens, recovers, migrates and raises the epoch. A corrupt file is renamed to `<path>.corrupt-<time>`
    // (with its WAL) and reported through `set_aside()`; a new store is begun. Any other failure changes
    // nothing.
    static Result<std::unique_ptr<Store>> open(StoreOptions options, const OnProgress& progress);
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // `write` may run twice when another one of its batch failed (the batch is then done one by one): it must
    // not change anything but the store and its own results.
    // `company`: whether it shares its transaction with others; what changes the tables themselves is alone.
    enum class Company : std::uint8_t { shared, alone };
    void submit(WriteFunction write, WriteDone done, Company company = Company::shared);
    // The same, waiting for the commit.
    Result<void> write(WriteFunction write, Company company = Company::shared);

    // A connection for reading, given back when it goes out of scope.
    class Reader {
    public:
        Reader(Store& store, std::unique_ptr<Database> database, std::uint64_t shape)
            : store_(&store)
            , database_(std::move(database))
            , shape_(shape) {}
        Reader(Reader&&) = default;
        Reader& operator=(Reader&&) = delete;
        ~Reader();
        Database& operator*() const { return *database_; }
        Database* operator->() const { return database_.get(); }

    private:
        Store* store_;
        std::unique_ptr<Database> database_;
        std::uint64_t shape_;
    };
    // `for_whom`: for oneself, after a commit, the log need not be looked at once more.
    enum class ForWhom : std::uint8_t { client, itself };
    Result<Reader> reader(ForWhom for_whom = ForWhom::client);
    // The tables are not what they were: connections that are being read with are not used again.
    void shape_changed();

    // Constant time, from memory.
    [[nodiscard]] Totals totals() const;
    [[nodiscard]] std::int64_t epoch() const noexcept { return epoch_; }
    [[nodiscard]] bool fenced() const noexcept { return fenced_; }
    // Refuses every further write (Errc::superseded): the home is, or may be, another process's by now.
    void fence() noexcept { fenced_ = refuse_all_ = true; }
    [[nodiscard]] std::uint64_t wal_bytes() const noexcept { return wal_frames_ * 4120; }
    [[nodiscard]] const std::string& path() const noexcept { return options_.path; }
    // False when another file, or none, lies where the database was opened: what is written now, nobody would
    // find again. Every transaction asks; from any thread.
    [[nodiscard]] bool in_place() const noexcept;
    // False when the write-ahead log is not what was written; the writer is asked to save what it can. From
    // any thread.
    bool has_its_log();
    // What happened to the log, and what was saved of it; empty: nothing, or it is not known yet.
    [[nodiscard]] std::string log_loss() const;
    // A word that no other store has: what was made from the rows of another is known by it.
    [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
    // Where a corrupt database was put, at this opening or at an earlier one, and still lies; empty: nowhere.
    [[nodiscard]] const std::string& set_aside() const noexcept { return set_aside_; }
    // It was this opening that found it corrupt, not an earlier one.
    [[nodiscard]] bool set_aside_now() const noexcept { return set_aside_now_; }

    // What earlier owners noted of their logs, and was still there when it was looked for.
    [[nodiscard]] const std::vector<LogLoss>& earlier_log_losses() const noexcept { return earlier_losses_; }
    // At the opening, and to be called when rows of these were stored again; before others ask.
    void look_for_log_losses() { earlier_losses_ = log_losses(options_.path); }

    // Finishes everything submitted, then stops. Called by the destructor too.
    void close();

private:
    struct Pending {
        WriteFunction write;
        WriteDone done;
        Company company = Company::shared;
    };
    explicit Store(StoreOptions options)
        : options_(std::move(options)) {}
    Result<void> open_connections(const OnProgress& progress);
    Result<void> look_at_what_is_stored();
    void writer_loop();
    void checkpoint_loop();
    void run_batch(std::vector<Pending>& batch);
    void keep_log_short();
    void tell(const RowChanges& changes);
    bool wipe_step(); // false: it could not be done now
    Result<void> transact(std::vector<Pending>& batch, std::size_t first, std::size_t count,
                          RowChanges& changes);
    struct Begun {
        database::Transaction transaction;
        StateRow state;
    };
    Result<Begun> begin(); // superseded: the files, or the epoch in them, are not its own
    enum class Look : std::uint8_t { all, before_commit, after_commit };
    Result<void> need_own_files(Look look = Look::all);
    void fenced_by_what_was_found();
    void lose_log(database::LogState state);
    void give_back(std::unique_ptr<Database> database, std::uint64_t shape);

    StoreOptions options_;
    std::string set_aside_;
    bool set_aside_now_ = false;
    database::LogWatch log_; // before the connection that it looks into
    Database writer_;
    std::int64_t epoch_ = 0;
    std::string identity_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    std::atomic<bool> fenced_ = false; // a newer epoch was seen
    std::atomic<bool> refuse_all_ = false;
    std::atomic<std::size_t> wal_frames_ = 0;
    std::atomic<bool> log_lost_ = false;
    Unsaved unsaved_; // the writer's
    mutable std::mutex loss_mutex_;
    std::string log_loss_;
    std::vector<LogLoss> earlier_losses_;

    mutable std::mutex totals_mutex_;
    Totals totals_;

    std::mutex queue_mutex_;
    std::condition_variable queue_changed_;
    std::deque<Pending> queue_;
    bool stopping_ = false;
    bool log_in_doubt_ = false; // somebody saw that it is not sound; the writer is to look

    std::mutex checkpoint_mutex_;
    std::condition_variable checkpoint_wanted_;
    bool checkpoint_due_ = false;
    bool checkpoint_stop_ = false;
    std::atomic<bool> reset_due_ = false;
    std::mutex copying_mutex_; // held while the other thread copies the log back

    std::mutex readers_mutex_;
    std::vector<std::unique_ptr<Database>> readers_;
    std::uint64_t shape_ = 0;
    Wipe wipe_; // the writer's, once it runs
    std::thread writer_thread_;
    std::thread checkpoint_thread_;
};

// Verifies the file and the full-text index; makes the index anew, from the text, when it disagrees with that
// or cannot be used at all, or when `rebuild` asks for it.
struct CheckReport {
    std::vector<std::string> problems; // of the database itself; empty: sound
    bool index_sound = true;
    bool index_repaired = false;
};
Result<CheckReport> check_store(Store& store, bool rebuild = false);

} // namespace holdfast::memory
