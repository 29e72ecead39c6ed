// A look at a store that this process does not own: nothing is locked, written or removed, and the epoch
// stays.
//
// For a store that nobody changes at the moment: one without an owner, or whose owner is stopped. Where
// somebody begins to write meanwhile, the answer may be an error or old; who asks looks at the slot again
// after.
#pragma once

#include "memory/repository/model.hpp"

#include "holdfast/result.hpp"

#include <cstdint>
#include <string>

namespace holdfast::memory {

struct Glance {
    Totals totals;
    std::int64_t epoch = 0;
    std::uint64_t bytes = 0;
    std::uint64_t log_bytes = 0;
};

// not_found: there is no database at that path. A corrupt one is_corrupt(), and stays as it is.
Result<Glance> glance_at_store(const std::string& path);

} // namespace holdfast::memory
