#include "memory/writer/glance.hpp"

#include "base/text.hpp"
#include "memory/repository/state_row.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace holdfast::memory {

Result<Glance> glance_at_store(const std::string& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return fail(errno == ENOENT ? Errc::not_found : Errc::io, base::cat("there is no database at ", path),
                    errno);
    Glance glance;
    glance.bytes = static_cast<std::uint64_t>(file.st_size);
    if (::stat((path + "-wal").c_str(), &file) == 0)
        glance.log_bytes = static_cast<std::uint64_t>(file.st_size);
    if (glance.bytes == 0 && glance.log_bytes > 0) // opened, it would lose its log
        return fail(Errc::io,
                    base::cat("the database ", path, " is corrupt: it is empty, and its log is not"),
                    EUCLEAN);
    // Without a log SQLite would make an empty one.
    auto database =
        open_database(path, glance.log_bytes > 0 ? OpenMode::read_only_with_log : OpenMode::read_only_still);
    if (!database)
        return std::unexpected(std::move(database.error()));
    const auto state = read_state(*database);
    if (!state)
        return std::unexpected(state.error());
    glance.epoch = state->epoch;
    glance.totals = state->totals;
    return glance;
}

} // namespace holdfast::memory
