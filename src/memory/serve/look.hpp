// What can be said of a home without becoming part of it: for `holdfast memory status`, which is a reader.
#pragma once

#include "holdfast/result.hpp"

#include "json/json.hpp"

#include <string>

namespace holdfast::memory {

// The health of the home. With an owner that answers it is the owner's own; otherwise what the files say,
// with one of these as its phase:
//   closed   nobody owns the home
//   stopped  its owner is stopped (and stays so: a reader wakes nobody)
//   silent   its owner does not answer
// Takes no lock, writes nothing, raises no epoch. not_found: there is no memory at that place. A store that
// cannot be read is said in the health ("ok": false, "error").
Result<json::object> look_at_home(const std::string& home);

// Whether anybody ever began a memory there.
bool is_memory_home(const std::string& home);

} // namespace holdfast::memory
