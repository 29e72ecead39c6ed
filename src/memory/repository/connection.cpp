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

} // namespace holdfast::memory
