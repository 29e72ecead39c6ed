// The two files of a slot.
#pragma once

#include "holdfast/slot.hpp"

#include <string>

namespace holdfast::slot {

inline std::string lock_path(const SlotLocation& location) {
    return location.directory + "/" + location.name + ".lock";
}
inline std::string record_path(const SlotLocation& location) {
    return location.directory + "/" + location.name + ".json";
}

} // namespace holdfast::slot
