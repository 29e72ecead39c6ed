#include "memory/writer/unsaved.hpp"

#include <string_view>

namespace holdfast::memory {

void Unsaved::watch(Database& writer) {
    writer.tell(*this);
}

void Unsaved::stored(std::string_view table, std::int64_t row) {
    for (std::size_t i = 0; i < stored_tables.size(); ++i)
        if (table == stored_tables.at(i)) {
            if (row <= marks_.at(i))
                changed_.at(i).insert(row);
            return;
        }
}

void Unsaved::database_has_all(Database& database) {
    const auto last = last_rows(database);
    if (!last)
        return;
    marks_ = *last;
    for (auto& rows : changed_)
        rows.clear();
    forgotten_.clear();
    empty_ = true;
}

void Unsaved::committed(const std::vector<std::string>& forgotten) {
    forgotten_.insert(forgotten_.end(), forgotten.begin(), forgotten.end());
    empty_ = false;
}

} // namespace holdfast::memory
