#include "memory/store/glance.hpp"

#include "core/text.hpp"
#include "memory/store/sqlite.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace holdfast::memory {

Result<Glance> glance_at_store(const std::string& path) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0)
        return fail(errno == ENOENT ? Errc::not_found : Errc::io, core::cat("there is no database at ", path),
                    errno);
    Glance glance;
    glance.bytes = static_cast<std::uint64_t>(file.st_size);
    if (::stat((path + "-wal").c_str(), &file) == 0)
        glance.log_bytes = static_cast<std::uint64_t>(file.st_size);
    // Without a log SQLite would make an empty one.
    auto database =
        Database::open(path, glance.log_bytes > 0 ? OpenMode::read_only_with_log : OpenMode::read_only_still);
    if (!database)
        return std::unexpected(std::move(database.error()));
    auto state = database->prepare("SELECT epoch, sessions, episodes, traces, feedback, objects FROM state");
    if (!state)
        return std::unexpected(std::move(state.error()));
    const ScopedReset reset(**state);
    auto row = (*state)->step();
    if (!row)
        return std::unexpected(std::move(row.error()));
    if (!*row)
        return fail(Errc::io, "memory store: its state row is missing", EUCLEAN);
    glance.epoch = (*state)->integer(0);
    glance.totals = {(*state)->integer(1), (*state)->integer(2), (*state)->integer(3), (*state)->integer(4),
                     (*state)->integer(5)};
    return glance;
}

} // namespace holdfast::memory
