// The values of JSON: Boost's, under our own name. Only the values are taken over: text is parsed, scanned
// and written by this folder, each in one way.
//
//   json_parse.hpp    text -> values, within limits
//
//   json_fields.hpp   members of an object whose content nobody vouches for
//
//   json_scan.hpp     text -> where its members and values are; builds nothing
//
//   json_write.hpp    values and records -> text
//
//   json_string.hpp   a string -> its literal, and back
#pragma once

#include <boost/json.hpp>

namespace holdfast::json {

using boost::json::array;
using boost::json::kind;
using boost::json::monotonic_resource;
using boost::json::object;
using boost::json::storage_ptr;
using boost::json::string;
using boost::json::string_view;
using boost::json::value;

} // namespace holdfast::json
