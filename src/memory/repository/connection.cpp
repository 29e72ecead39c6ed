#include "memory/repository/connection.hpp"

#include "memory/repository/list_index.hpp"

namespace holdfast::memory {

Result<Database> open_database(const std::string& path, OpenMode mode, const char* vfs) {
    auto opened = Database::open(path, mode, {.vfs = vfs, .called = "memory store"});
    if (!opened)
        return opened;
    if (mode == OpenMode::read_write_create || mode == OpenMode::read_write)
        if (auto added = add_list_words(opened->raw()); !added)
            return std::unexpected(std::move(added.error()));
    return opened;
}

Result<void> set_up_writer(Database& database) {
    // FULL: a commit is on disk when it returns. Checkpoints are another thread's work, hence no automatic
    // ones.
    return database.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
                         "PRAGMA foreign_keys=ON; PRAGMA cache_size=-2000; PRAGMA secure_delete=FAST;"
                         "PRAGMA journal_size_limit=67108864");
}

Result<Database> open_reader(const std::string& path) {
    auto database = open_database(path, OpenMode::read_write);
    if (!database)
        return database;
    database->wait_for_locks(lock_wait_ms);
    if (auto set = database->exec("PRAGMA query_only=ON; PRAGMA cache_size=-1000"); !set)
        return std::unexpected(std::move(set.error()));
    return database;
}

Result<Database> open_for_checkpoints(const std::string& path) {
    auto database = open_database(path, OpenMode::read_write);
    if (database)
        (void)database->exec("PRAGMA synchronous=FULL; PRAGMA cache_size=-500");
    return database;
}

} // namespace holdfast::memory
