// Whether the ranked index is that of the rows which are in the store.
#include "memory/recall/recall.hpp"

#include "memory/repository/trace_scan.hpp"

#include <algorithm>

namespace holdfast::memory {

Result<bool> Recall::counts_agree(Database& database, std::int64_t next_trace) const {
    // Behind many rows that are still to be indexed, counting those would hold up the start for as long as
    // reading them.
    constexpr std::int64_t many = 100'000;
    if (index_->left() == 0 || next_trace - index_->next_row() > many)
        return true;
    const auto newer = count_traces_from(database, index_->next_row());
    if (!newer)
        return std::unexpected(newer.error());
    const auto indexed = store_.totals().traces - *newer;
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
    std::vector<bool> seen(documents.size());
    bool agree = true;
    auto visited = visit_places(**reader, [&](const TracePlace& stored) {
        const auto place = document_place(stored.row, stored.session_row, stored.ts);
        if (place.row >= inventory.next_row)
            return true;
        const auto found = std::ranges::lower_bound(documents, place.row, {}, &DocumentPlace::row);
        agree = found != documents.end() && found->row == place.row && found->session == place.session &&
                found->time == place.time;
        if (agree)
            seen[static_cast<std::size_t>(found - documents.begin())] = true;
        return agree;
    });
    if (!visited)
        return std::unexpected(std::move(visited.error()));
    if (!agree)
        return Agreement::rebuilding;
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
