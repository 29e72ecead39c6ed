// Text of unknown origin, made fit to be shown.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::core {

// Names and command lines are any bytes their process chose. Control characters (they would steer the
// reader's terminal) and bytes that are not UTF-8 (they would break JSON) become '?'.
std::string printable(std::string_view text);

} // namespace holdfast::core
