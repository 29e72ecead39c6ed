// An identity as one word, for an environment variable.
#pragma once

#include "base/identity.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {

// "PID:START_TICKS:PID_NAMESPACE:PIDFD_INODE:BOOT_ID", without the token.
std::string to_word(const Identity& identity);
// Nothing when the text is not one of ours.
std::optional<Identity> identity_from_word(std::string_view word);

} // namespace holdfast::base
