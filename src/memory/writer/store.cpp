// The writer, the checkpoints and the readers of an open store.
#include "memory/writer/store.hpp"

#include "base/text.hpp"

#include <sys/stat.h>

#include <chrono>
#include <future>

namespace holdfast::memory {

using base::cat;
using database::LogState;

Store::~Store() {
    close();
}

void Store::submit(WriteFunction write, WriteDone done, Company company) {
    {
        const std::lock_guard lock(queue_mutex_);
        if (!stopping_) {
            queue_.push_back({std::move(write), std::move(done), company});
            queue_changed_.notify_one();
            return;
        }
    }
    done(fail(Errc::closed, "the memory store is shut down"));
}

Result<void> Store::write(WriteFunction write, Company company) {
    std::promise<Result<void>> promise;
    auto answer = promise.get_future();
    submit(
        std::move(write), [&promise](Result<void> result) { promise.set_value(std::move(result)); }, company);
    return answer.get();
}

void Store::writer_loop() {
    std::vector<Pending> batch;
    bool wipe_stuck = false; // somebody reads from the log: tried again after the next write, or a second
    std::optional<std::chrono::steady_clock::time_point> wipe_until;
    for (;;) {
        {
            std::unique_lock lock(queue_mutex_);
            const auto called = [&] { return !queue_.empty() || stopping_ || log_in_doubt_; };
            if (!wipe_.due())
                queue_changed_.wait(lock, called);
            else if (wipe_stuck)
                queue_changed_.wait_for(lock, std::chrono::seconds(1), called);
            if (std::exchange(log_in_doubt_, false)) {
                lock.unlock();
                (void)need_own_files();
                continue;
            }
            if (queue_.empty()) {
                // Closing waits a little for what is being wiped; the next owner does the rest.
                if (stopping_ && !wipe_until)
                    wipe_until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
                if (stopping_ &&
                    (!wipe_.due() || wipe_stuck || std::chrono::steady_clock::now() >= *wipe_until))
                    return;
                lock.unlock();
                wipe_stuck = !wipe_step();
                keep_log_short();
                continue;
            }
            // Bounded, so that one answer never waits for thousands of others.
            while (!queue_.empty() && batch.size() < 256) {
                const bool alone = queue_.front().company == Company::alone;
                if (alone && !batch.empty())
                    break;
                batch.push_back(std::move(queue_.front()));
                queue_.pop_front();
                if (alone)
                    break;
            }
        }
        run_batch(batch);
        batch.clear();
        wipe_stuck = false;
        keep_log_short();
    }
}

void Store::keep_log_short() {
    if (log_lost_)
        return;
    if (wal_frames_ >= options_.checkpoint_frames) {
        const std::lock_guard lock(checkpoint_mutex_);
        checkpoint_due_ = true;
        checkpoint_wanted_.notify_one();
    }
    // Under writes without a pause the other thread never catches the last frame, and the log would grow
    // for ever. It has copied all but a few; copying those here lets the log start anew.
    // And when that thread does not get to run at all, the log still stays within four times that length.
    if ((reset_due_.exchange(false) || wal_frames_ >= 4 * options_.reset_frames) && need_own_files())
        writer_.checkpoint(database::Checkpoint::passive);
}

void Store::run_batch(std::vector<Pending>& batch) {
    RowChanges changes;
    auto together = transact(batch, 0, batch.size(), changes);
    if (together || batch.size() == 1) {
        if (together)
            tell(changes);
        for (auto& pending : batch)
            pending.done(together);
        return;
    }
    // One of them failed and took the others' transaction with it: each on its own, so only that one fails.
    for (std::size_t i = 0; i < batch.size(); ++i) {
        changes.clear();
        auto alone = transact(batch, i, 1, changes);
        if (alone)
            tell(changes);
        batch[i].done(std::move(alone));
    }
}

void Store::tell(const RowChanges& changes) {
    if (!changes.went.empty())
        wipe_.ask();
    if (options_.on_changes && !changes.empty())
        options_.on_changes(changes);
}

bool Store::wipe_step() {
    if (wipe_.wants_log_emptied()) {
        if (!need_own_files())
            return false;
        // Other writes wait meanwhile, so a reader that is in the way is not waited for.
        writer_.wait_for_locks(0);
        const bool emptied = writer_.checkpoint(database::Checkpoint::truncate).done;
        writer_.wait_for_locks(lock_wait_ms);
        if (emptied)
            wipe_.log_emptied();
        return emptied;
    }
    std::vector<Pending> step;
    step.push_back({[this](WriteContext& context) { return wipe_.step(context.database); }, {}, {}});
    RowChanges none;
    const bool done = transact(step, 0, 1, none).has_value();
    if (done)
        wipe_.committed();
    return done;
}

Result<Store::Begun> Store::begin() {
    // First, before any page is touched: what this connection still has in memory is what can be saved.
    if (auto own = need_own_files(Look::before_commit); !own)
        return std::unexpected(std::move(own.error()));
    auto transaction = database::Transaction::begin(writer_);
    if (!transaction)
        return std::unexpected(std::move(transaction.error()));
    if (!unsaved_.empty() && log_.all_copied())
        unsaved_.database_has_all(writer_);
    const auto state = read_state(writer_);
    if (!state)
        return std::unexpected(state.error());
    if (state->epoch != epoch_) {
        if (!fenced_.exchange(true) && options_.on_fenced)
            options_.on_fenced();
        return fail(Errc::superseded, cat("this process owned the memory store as epoch ", epoch_, "; epoch ",
                                          state->epoch, " owns it now. Connect to that one"));
    }
    return Begun{std::move(*transaction), *state};
}

Result<void> Store::transact(std::vector<Pending>& batch, std::size_t first, std::size_t count,
                             RowChanges& changes) {
    auto begun = begin();
    if (!begun)
        return std::unexpected(std::move(begun.error()));
    auto& state = begun->state;
    WriteContext context{writer_, state.totals, state.next_trace, changes};
    Result<void> result;
    for (std::size_t i = first; result && i < first + count; ++i)
        result = batch[i].write(context);
    if (result)
        result = write_state(writer_, state);
    if (result)
        result = begun->transaction.commit();
    if (!result)
        return result;
    unsaved_.committed(changes.forgotten);
    // And again: what was written into a log that nobody will find, or read, is not answered.
    if (auto own = need_own_files(Look::after_commit); !own)
        return own;
    const std::lock_guard lock(totals_mutex_);
    totals_ = state.totals;
    return {};
}

void Store::checkpoint_loop() {
    // Opened here: the thread that uses a connection makes it.
    auto database = open_for_checkpoints(options_.path);
    if (!database)
        return; // without it the log only grows; closing the store still copies it back
    std::unique_lock lock(checkpoint_mutex_);
    for (;;) {
        checkpoint_wanted_.wait(lock, [&] { return checkpoint_due_ || checkpoint_stop_; });
        if (checkpoint_stop_)
            return;
        checkpoint_due_ = false;
        lock.unlock();
        int frames = 0;
        {
            // A log that was cut would be copied into the database as zeros, or half of it.
            const std::lock_guard copying(copying_mutex_);
            if (!log_lost_ && log_.look() == LogState::sound)
                frames = database->checkpoint(database::Checkpoint::passive).frames;
        }
        if (frames >= static_cast<int>(options_.reset_frames))
            reset_due_ = true;
        lock.lock();
    }
}

Result<Store::Reader> Store::reader(ForWhom for_whom) {
    if (for_whom == ForWhom::client && !has_its_log())
        return fail(Errc::superseded, cat("the write-ahead log of ", options_.path,
                                          " was cut, moved or replaced while this process used it"));
    std::uint64_t shape = 0;
    {
        const std::lock_guard lock(readers_mutex_);
        shape = shape_;
        if (!readers_.empty()) {
            auto database = std::move(readers_.back());
            readers_.pop_back();
            return Reader(*this, std::move(database), shape);
        }
    }
    auto database = open_reader(options_.path);
    if (!database)
        return std::unexpected(std::move(database.error()));
    return Reader(*this, std::make_unique<Database>(std::move(*database)), shape);
}

void Store::give_back(std::unique_ptr<Database> database, std::uint64_t shape) {
    const std::lock_guard lock(readers_mutex_);
    if (readers_.size() < 4 && shape == shape_)
        readers_.push_back(std::move(database));
}

Store::Reader::~Reader() {
    if (database_)
        store_->give_back(std::move(database_), shape_);
}

void Store::shape_changed() {
    const std::lock_guard lock(readers_mutex_);
    ++shape_;
    readers_.clear();
}

bool Store::in_place() const noexcept {
    struct stat file{};
    return ::stat(options_.path.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
}

Totals Store::totals() const {
    const std::lock_guard lock(totals_mutex_);
    return totals_;
}

void Store::close() {
    {
        const std::lock_guard lock(queue_mutex_);
        stopping_ = true;
        queue_changed_.notify_all();
    }
    if (writer_thread_.joinable())
        writer_thread_.join();
    {
        const std::lock_guard lock(checkpoint_mutex_);
        checkpoint_stop_ = true;
        checkpoint_wanted_.notify_all();
    }
    if (checkpoint_thread_.joinable())
        checkpoint_thread_.join();
    {
        const std::lock_guard lock(readers_mutex_);
        readers_.clear();
    }
    // Closing copies the log back, so the files must be ours. A store that could not be opened has none: it
    // was never fenced, and its owner reports why it could not be opened.
    if (inode_ != 0)
        (void)need_own_files();
    log_.detach();
    writer_.close(); // the last connection copies the log back and removes it
}

} // namespace holdfast::memory
