// A tool as a host is shown it, and the arguments of a call, checked against what the tool says it takes.
#pragma once

#include "mcp/request.hpp"

#include "json/json.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::mcp {

struct Tool {
    std::string_view name;
    std::string_view title;
    std::string_view description;
    json::object (*input)(); // its schema: an object of strings, integers and lists of strings
    bool reads_only;
    bool destroys;
};

// As tools/list has it.
json::object to_json(const Tool& tool);

// The arguments of a tools/call, fit for the tool. Nothing: they were not, and the request has been answered:
// with words that a model can act on, as far as it was the model that wrote them.
std::optional<json::object> arguments_for(const Tool& tool, Request& request);

// Pieces of a schema.
json::object text_property(std::string_view description);
json::object object_schema(json::object properties, json::array required);

} // namespace holdfast::mcp
