// Reading fields of a JSON object of which nothing is known for sure: a wrong type is the same as absence.
#pragma once

#include "json/json.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::json {

std::string text_field(const json::object& object, std::string_view key);
std::int64_t integer_field(const json::object& object, std::string_view key); // 0 when absent or out of range
std::uint64_t unsigned_field(const json::object& object, std::string_view key); // 0 when absent or negative
bool bool_field(const json::object& object, std::string_view key);
std::vector<std::string> texts_field(const json::object& object, std::string_view key);
const json::object* object_field(const json::object& object, std::string_view key);

} // namespace holdfast::json
