// The ids of JSON-RPC requests as they were written. An id is any string or number: 1.5, 1e3 and 2^64 come
// back to their sender as the same characters, whatever a parser would make of them.
#pragma once

#include <string_view>
#include <vector>

namespace holdfast::rpc {

// The id of a message, which is well-formed JSON: its text, or "null" where there is none that can be one.
std::string_view raw_id_of(std::string_view message) noexcept;

// The elements of a list, which is well-formed JSON; none when it is no list.
std::vector<std::string_view> elements_of(std::string_view list);

} // namespace holdfast::rpc
