// The database of the memory bridge that agents used before: read, never written, and turned into our lines.
#pragma once

#include "holdfast/result.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::memory {

// Hands over one line after the other, without the newline: first {"type":"lines","total":N}, then sessions,
// episodes, traces, feedback, policies, world models and skills, as far as there are such tables. All of one
// moment, also while the bridge writes. Columns that have no place of their own here go into `meta` (or
// `data`) under "bridge"; vectors are left out, since they are made from the text. A store of our own is read
// as well, also a damaged one: what can be read is handed over, then comes the error. `take` returns false to
// end it. Errors name the file and what is missing in it.
Result<void> read_bridge(const std::string& path, const std::function<bool(std::string_view)>& take);

} // namespace holdfast::memory
