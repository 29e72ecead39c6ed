// Reading the record of a slot or of a registry entry.
#pragma once

#include "base/record.hpp"
#include "holdfast/values.hpp"

#include <optional>

namespace holdfast::records {

// Nothing when there is no record file, or what is in it is no record.
std::optional<base::Record> read_record(const SlotLocation& location);

} // namespace holdfast::records
