// Opening: phases told as they happen, a corrupt file kept aside, the epoch raised.
#include "memory/writer/store.hpp"

#include "base/text.hpp"
#include "database/watched_vfs.hpp"
#include "memory/repository/namespaces.hpp"
#include "memory/repository/schema.hpp"
#include "memory/repository/state_row.hpp"
#include "memory/writer/aside.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace holdfast::memory {

using base::cat;

std::string_view name_of(Phase phase) noexcept {
    switch (phase) {
    case Phase::opening:
        return "opening";
    case Phase::recovering:
        return "recovering";
    case Phase::migrating:
        return "migrating";
    case Phase::indexing:
        return "indexing";
    case Phase::ready:
        return "ready";
    case Phase::failed:
        return "failed";
    }
    return "failed";
}

namespace {

std::uint64_t size_of(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

struct WalProgress {
    const OnProgress& tell;
    std::uint64_t total;
    std::uint64_t told = 0;
};

void tell_wal(void* context, std::uint64_t bytes) {
    auto& wal = *static_cast<WalProgress*>(context);
    // By bytes, not by time: no clock is asked at each page. On a disk of a megabyte a second this is still
    // sixteen times a second, and somebody may be waiting for a sign of life.
    if (bytes - wal.told < (std::uint64_t{1} << 16))
        return;
    wal.told = bytes;
    wal.tell(
        {Phase::recovering, bytes < wal.total ? bytes : wal.total, wal.total, "reading the write-ahead log"});
}

} // namespace

Result<std::unique_ptr<Store>> Store::open(StoreOptions options, const OnProgress& progress) {
    std::unique_ptr<Store> store(new Store(std::move(options)));
    progress({Phase::opening, 0, 0, ""});
    auto opened = store->open_connections(progress);
    if (!opened && is_corrupt(opened.error())) {
        store->writer_.close();
        auto aside = put_aside(store->options_.path);
        if (!aside)
            return std::unexpected(std::move(aside.error()));
        store->set_aside_ = *aside;
        store->set_aside_now_ = true;
        opened = store->open_connections(progress);
    }
    if (!opened)
        return std::unexpected(std::move(opened.error()));
    if (store->set_aside_.empty())
        store->set_aside_ = kept_aside(store->options_.path);
    store->look_for_log_losses();
    store->writer_thread_ = std::thread([raw = store.get()] { raw->writer_loop(); });
    store->checkpoint_thread_ = std::thread([raw = store.get()] { raw->checkpoint_loop(); });
    return store;
}

Result<void> Store::open_connections(const OnProgress& progress) {
    if (has_log_alone(options_.path))
        return fail(Errc::io, cat("the log of ", options_.path, " is there, and the database is not"),
                    EUCLEAN);
    const auto wal = size_of(options_.path + "-wal");
    sys::Fd log;
    const database::LogCapture capture(log);
    auto database = open_database(options_.path, OpenMode::read_write_create, database::watched_vfs());
    if (!database)
        return std::unexpected(std::move(database.error()));
    writer_ = std::move(*database);
    writer_.wait_for_locks(lock_wait_ms);
    {
        // The first statement that reads makes SQLite recover a leftover WAL, however long that takes.
        WalProgress watch{progress, wal};
        if (wal > 0)
            progress({Phase::recovering, 0, wal, "reading the write-ahead log"});
        const database::WalReadCounter counter(tell_wal, &watch);
        if (auto whose = check_whose(writer_, options_.path); !whose) {
            // Closing would copy the log back, and it is not ours to change.
            if (whose.error().code == Errc::unsupported && wal > 0)
                writer_.keep_log_on_close();
            return whose;
        }
        if (wal > 0)
            progress({Phase::recovering, wal, wal, "reading the write-ahead log"});
    }
    struct stat file{};
    if (::stat(options_.path.c_str(), &file) != 0)
        return fail(Errc::io, cat("the database ", options_.path, " was taken away while it was opened"),
                    errno);
    device_ = file.st_dev;
    inode_ = file.st_ino;
    ::chmod(options_.path.c_str(), 0600); // before there is a log, which is made with the same
    if (auto set = set_up_writer(writer_); !set)
        return set;
    auto migrated = migrate(
        writer_, options_.path, migrations(),
        [&](int step, int steps, const char* name) {
            progress({Phase::migrating, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(steps),
                      name});
        },
        [&](std::int64_t done, std::int64_t rows, const char* name) {
            progress(
                {Phase::indexing, static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(rows), name});
        });
    if (!migrated)
        return migrated;
    unsaved_.watch(writer_);
    if (wal == 0)
        unsaved_.database_has_all(writer_);
    if (auto sorted = sort_stored_namespaces(writer_); !sorted)
        return sorted;
    writer_.count_log_frames(wal_frames_);
    auto identity = store_identity(writer_);
    if (!identity)
        return std::unexpected(std::move(identity.error()));
    identity_ = std::move(*identity);
    auto epoch = raise_epoch(writer_, options_.least_epoch);
    if (!epoch)
        return std::unexpected(std::move(epoch.error()));
    epoch_ = *epoch;
    if (auto looked = look_at_what_is_stored(); !looked)
        return looked;
    // What an earlier owner forgot is known by nobody but that log: were it cut now, the words would be back.
    if (wal > 0 && wipe_.due())
        writer_.checkpoint(database::Checkpoint::passive);
    // What is left of an earlier log: the sooner it is in the database, the less a loss of the log can take.
    checkpoint_due_ = wal > 0;
    return log_.attach(writer_, std::move(log), options_.path + "-wal");
}

Result<void> Store::look_at_what_is_stored() {
    auto begun = begin();
    if (!begun)
        return std::unexpected(std::move(begun.error()));
    totals_ = begun->state.totals;
    return wipe_.look(writer_);
}

} // namespace holdfast::memory
