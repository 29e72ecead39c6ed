// The words a user may choose: slot names, profiles, session keys.
#pragma once

#include "holdfast/result.hpp"

#include <cstddef>
#include <string_view>

namespace holdfast::base {

inline constexpr std::size_t max_slot_name = 100;
inline constexpr std::size_t max_profile_name = 40;

// A slot name becomes a file name: 1 to 100 letters, digits, '.', '-', '_'; neither '.' nor '-' in
// front.
Result<void> check_slot_name(std::string_view name);

// A profile becomes a directory name: 1 to 40 letters, digits, '-', '_'.
Result<void> check_profile_name(std::string_view name);

} // namespace holdfast::base
