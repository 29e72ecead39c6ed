// The two files of a slot.
#pragma once

#include "holdfast/values.hpp"

#include <string>
#include <string_view>

namespace holdfast::records {

inline constexpr std::string_view lock_suffix = ".lock";

inline std::string lock_path(const SlotLocation& location) {
    return (location.directory + "/" + location.name).append(lock_suffix);
}
inline std::string record_path(const SlotLocation& location) {
    return location.directory + "/" + location.name + ".json";
}

} // namespace holdfast::records
