// Reading fields of a JSON object of which nothing is known for sure: a wrong type is the same as absence.
#pragma once

#include "json/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::json {

// The text as an object, or nothing. Depth is bounded, so a hostile file cannot exhaust the stack.
std::optional<json::object> parse_object(std::string_view text, const json::storage_ptr& memory = {});

std::string text_field(const json::object& object, std::string_view key);
std::int64_t integer_field(const json::object& object, std::string_view key); // 0 when absent or out of range
std::uint64_t unsigned_field(const json::object& object, std::string_view key); // 0 when absent or negative
bool bool_field(const json::object& object, std::string_view key);
std::vector<std::string> texts_field(const json::object& object, std::string_view key);
const json::object* object_field(const json::object& object, std::string_view key);

json::array to_array(const std::vector<std::string>& texts);

} // namespace holdfast::json
