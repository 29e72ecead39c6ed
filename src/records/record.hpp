// The record: what an owner says of itself, as a small JSON file. Reading one never fails loudly: a torn,
// empty, foreign or ancient text is simply no record.
#pragma once

#include "base/record.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::records {

inline constexpr int record_schema = 1;
inline constexpr std::size_t max_record_bytes = std::size_t{256} * 1024; // a larger file is no record of ours

std::string to_json(const base::Record& record);
std::optional<base::Record> record_from_json(std::string_view text);

} // namespace holdfast::records
