// The JSON values of the whole project: those of Boost.JSON, under our own name. What this folder declares
// itself (parse, to_text, the fields) comes before Boost's function of the same name.
#pragma once

#include <boost/json.hpp>

namespace holdfast::json {
using namespace boost::json; // NOLINT(google-build-using-namespace): this is what the namespace is for
} // namespace holdfast::json
