// From errno to Error: one place decides which errno means what to a caller.
#pragma once

#include "holdfast/result.hpp"

#include <cerrno>
#include <string>
#include <string_view>

namespace holdfast::sys {

// The code a caller can act on for this errno (EACCES -> not_permitted, ENOSPC -> no_space, ...).
Errc code_of_errno(int err) noexcept;

// The kernel's sentence for errno, e.g. "No space left on device".
std::string describe_errno(int err);

// fail_sys("open /x/y.lock") -> "open /x/y.lock: Permission denied", with code and errno filled in.
std::unexpected<Error> fail_sys(std::string_view what, int err = errno);
// The same for making a file or directory: that its place is missing, no directory or read-only is
// cannot_create, and not what was looked for and not found.
std::unexpected<Error> fail_making(std::string_view what, int err = errno);

} // namespace holdfast::sys
