// Opening: phases told as they happen, a corrupt file kept aside, the epoch raised.
#include "memory/store/store.hpp"

#include "core/text.hpp"
#include "memory/store/aside.hpp"
#include "memory/store/namespaces.hpp"
#include "memory/store/schema.hpp"
#include "memory/store/watched_vfs.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>

namespace holdfast::memory {

using core::cat;

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
    struct stat info {};
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
    store->writer_thread_ = std::thread([raw = store.get()] { raw->writer_loop(); });
    store->checkpoint_thread_ = std::thread([raw = store.get()] { raw->checkpoint_loop(); });
    return store;
}

Result<void> Store::open_connections(const OnProgress& progress) {
    const auto wal = size_of(options_.path + "-wal");
    auto database = Database::open(options_.path, OpenMode::read_write_create, watched_vfs());
    if (!database)
        return std::unexpected(std::move(database.error()));
    writer_ = std::move(*database);
    ::chmod(options_.path.c_str(), 0600);
    sqlite3_busy_timeout(writer_.raw(), busy_ms);
    {
        // The first statement that reads makes SQLite recover a leftover WAL, however long that takes.
        WalProgress watch{progress, wal};
        if (wal > 0)
            progress({Phase::recovering, 0, wal, "reading the write-ahead log"});
        const WalReadCounter counter(tell_wal, &watch);
        if (auto first = writer_.scalar("SELECT count(*) FROM sqlite_schema"); !first)
            return std::unexpected(std::move(first.error()));
        if (wal > 0)
            progress({Phase::recovering, wal, wal, "reading the write-ahead log"});
    }
    // FULL: a commit is on disk when it returns. Checkpoints are the other thread's work, hence no automatic
    // ones.
    if (auto set =
            writer_.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
                         "PRAGMA foreign_keys=ON; PRAGMA cache_size=-2000; PRAGMA secure_delete=FAST;"
                         "PRAGMA journal_size_limit=67108864");
        !set)
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
    if (auto sorted = sort_stored_namespaces(writer_); !sorted)
        return sorted;
    sqlite3_wal_hook(
        writer_.raw(),
        [](void* self, sqlite3*, const char*, int frames) {
            static_cast<Store*>(self)->wal_frames_ = static_cast<std::size_t>(frames);
            return SQLITE_OK;
        },
        this);
    return raise_epoch();
}

Result<void> Store::raise_epoch() {
    if (auto begun = writer_.exec("BEGIN IMMEDIATE"); !begun)
        return begun;
    auto stored = writer_.scalar("SELECT epoch FROM state");
    if (!stored) {
        (void)writer_.exec("ROLLBACK");
        return std::unexpected(std::move(stored.error()));
    }
    epoch_ = std::max(*stored + 1, options_.least_epoch);
    if (auto raised = writer_.exec(cat("UPDATE state SET epoch=", epoch_, ";COMMIT")); !raised) {
        if (writer_.in_transaction())
            (void)writer_.exec("ROLLBACK");
        return raised;
    }
    Totals totals;
    std::int64_t next_trace = 0;
    if (auto read = begin(totals, next_trace); !read)
        return read;
    totals_ = totals;
    if (auto looked = wipe_.look(writer_); !looked)
        return looked;
    return writer_.exec("ROLLBACK");
}

} // namespace holdfast::memory
