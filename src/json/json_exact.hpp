// JSON parsing that keeps every number. Boost 1.81 computes a fraction from its digits by multiplying, which
// is off by the last bit for one in some ten: what was stored would come back from an export as another
// number.
#pragma once

#include "json/json.hpp"

#include <cstddef>
#include <string_view>

namespace holdfast::json {

// As json::parse, but each fraction is the double nearest to what is written.
json::value parse_exact(std::string_view text, boost::system::error_code& failed,
                        std::size_t max_depth = 200);

} // namespace holdfast::json
