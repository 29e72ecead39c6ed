// What only the write-ahead log has: the changes since the database had all that was committed. Kept in the
// writer's memory, by number, so that a log that is lost takes no change with it that the writer can still
// read, and no deletion at all.
#pragma once

#include "holdfast/result.hpp"
#include "memory/repository/tables.hpp"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace holdfast::memory {

class Unsaved final : private database::RowListener {
public:
    Unsaved() = default;
    Unsaved(const Unsaved&) = delete;
    Unsaved& operator=(const Unsaved&) = delete;

    // Hears of every row that this connection changes. To be called before it changes any.
    void watch(Database& writer);
    // The database has everything: begins anew. What cannot be read leaves it as it is.
    void database_has_all(Database& database);
    // A transaction was committed, in which these traces were deleted (ids).
    void committed(const std::vector<std::string>& forgotten);

    // False, too, while nobody has said that the database has everything.
    [[nodiscard]] bool empty() const noexcept { return empty_; }
    // The last row of each table at that moment: what is behind it came since.
    [[nodiscard]] std::int64_t mark(std::size_t table) const { return marks_.at(table); }
    // Rows up to the mark that were changed since. They may be gone, and one or the other may be as it was.
    [[nodiscard]] const std::set<std::int64_t>& changed(std::size_t table) const {
        return changed_.at(table);
    }
    [[nodiscard]] const std::vector<std::string>& forgotten() const noexcept { return forgotten_; }

private:
    void stored(std::string_view table, std::int64_t row) override;

    LastRows marks_{};
    std::array<std::set<std::int64_t>, stored_tables.size()> changed_;
    std::vector<std::string> forgotten_;
    bool empty_ = false;
};

} // namespace holdfast::memory
