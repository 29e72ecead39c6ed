// Whether the ranked index is that of the rows which are in the store.
#include "memory/recall/recall.hpp"

#include <algorithm>

namespace holdfast::memory {

Result<bool> Recall::counts_agree(Database& database, std::int64_t next_trace) const {
    // Behind many rows that are still to be indexed, counting those would hold up the start for as long as
    // reading them.
    constexpr std::int64_t many = 100'000;
    if (index_->left() == 0 || next_trace - index_->next_row() > many)
        return true;
    auto newer = database.prepare("SELECT count(*) FROM traces WHERE row>=?1");
    if (!newer)
        return std::unexpected(std::move(newer.error()));
    (*newer)->bind(1, index_->next_row());
    const ScopedReset reset(**newer);
    auto row = (*newer)->step();
    if (!row)
        return std::unexpected(std::move(row.error()));
    const auto indexed = store_.totals().traces - (*newer)->integer(0);
    return indexed == static_cast<std::int64_t>(index_->left());
}

// A row keeps its number, its session and its time for life, and a changed text gets a new row: where these
// three agree, the words were made from that row.
Result<Recall::Agreement> Recall::compare_rows() {
    // The index first: what is in the store after that and below its end was indexed before.
    const auto inventory = index_->inventory();
    const auto& documents = inventory.documents;
    auto reader = store_.reader();
    if (!reader)
        return std::unexpected(std::move(reader.error()));
    auto rows = (*reader)->prepare("SELECT row, session, ts FROM traces");
    if (!rows)
        return std::unexpected(std::move(rows.error()));
    const ScopedReset reset(**rows);
    std::vector<bool> seen(documents.size());
    for (;;) {
        auto row = (*rows)->step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (!*row)
            break;
        const auto place = document_place((*rows)->integer(0), (*rows)->integer(1), (*rows)->integer(2));
        if (place.row >= inventory.next_row)
            continue;
        const auto found = std::ranges::lower_bound(documents, place.row, {}, &DocumentPlace::row);
        if (found == documents.end() || found->row != place.row || found->session != place.session ||
            found->time != place.time)
            return Agreement::rebuilding;
        seen[static_cast<std::size_t>(found - documents.begin())] = true;
    }
    auto agreement = Agreement::sound;
    for (std::size_t i = 0; i < documents.size(); ++i)
        if (!seen[i]) {
            index_->remove(documents[i].row);
            agreement = Agreement::repaired;
        }
    return agreement;
}

Result<Recall::Agreement> Recall::check() {
    auto agreement = index_->sound() ? compare_rows() : Result<Agreement>(Agreement::rebuilding);
    if (agreement && *agreement == Agreement::rebuilding)
        rebuild();
    return agreement;
}

} // namespace holdfast::memory
