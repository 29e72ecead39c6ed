#include "records/record_file.hpp"

#include "records/paths.hpp"
#include "records/record.hpp"
#include "sys/whole_file.hpp"

namespace holdfast::records {

std::optional<base::Record> read_record(const SlotLocation& location) {
    // We may have been overtaken by two writers while we read; then it can be read now. What is no record
    // stays none.
    constexpr int looks = 4;
    for (int look = 0; look < looks; ++look) {
        auto text = sys::read_rewritten(record_path(location), max_record_bytes);
        if (!text)
            return std::nullopt;
        if (auto record = record_from_json(*text))
            return record;
    }
    return std::nullopt;
}

} // namespace holdfast::records
