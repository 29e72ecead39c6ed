// Files that are written whole or not at all.
#pragma once

#include "holdfast/result.hpp"

#include <string>
#include <string_view>

namespace holdfast::sys {

// Writes `text` to path + ".tmp" and puts it in the place of `path` (mode 0600). The temporary name is fixed: one
// writer at a time is the caller's promise (it owns the lock beside it), and what a crash leaves is
// overwritten by the next. No fsync: what such a file says is only true while a lock is held, and no lock
// outlives the machine.
Result<void> write_whole(const std::string& path, std::string_view text);

} // namespace holdfast::sys
