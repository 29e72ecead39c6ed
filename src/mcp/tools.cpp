#include "mcp/tools.hpp"

#include "base/text.hpp"
#include "json/json_fields.hpp"
#include "json/json_write.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast::mcp {

using base::cat;

namespace {

// To JSON Schema 2.0 is an integer, and some languages have no other numbers.
void make_whole(json::object& arguments, const json::object& input) {
    for (auto& member : arguments) {
        const auto* property = input.at("properties").get_object().if_contains(member.key());
        const auto* real = member.value().if_double();
        if (property != nullptr && real != nullptr && std::abs(*real) <= 9e15 && std::trunc(*real) == *real &&
            json::text_field(property->get_object(), "type") == "integer")
            member.value() = static_cast<std::int64_t>(*real);
    }
}

// The first thing that is wrong with the arguments, in words a model can act on.
std::optional<std::string> wrong(const json::object& arguments, const json::object& input) {
    const auto& properties = input.at("properties").get_object();
    for (const auto& name : input.at("required").get_array())
        if (const auto* value = arguments.if_contains(name.get_string());
            value == nullptr || value->is_null() || *value == "")
            return cat(std::string_view(name.get_string()), " is required");
    for (const auto& member : arguments) {
        const auto* property = properties.if_contains(member.key());
        if (property == nullptr)
            return cat("there is no argument ", std::string_view(member.key()));
        const auto& rules = property->get_object();
        const auto type = json::text_field(rules, "type");
        const auto& value = member.value();
        if (value.is_null())
            continue;
        if (type == "string" && !value.is_string())
            return cat(std::string_view(member.key()), " must be a string");
        if (type == "integer" && !value.is_int64())
            return cat(std::string_view(member.key()), " must be a whole number");
        if (type == "integer" &&
            (value.get_int64() < json::integer_field(rules, "minimum") ||
             (rules.contains("maximum") && value.get_int64() > json::integer_field(rules, "maximum"))))
            return cat(std::string_view(member.key()), " is out of range");
        if (type == "array" &&
            (!value.is_array() || !std::ranges::all_of(value.get_array(), &json::value::is_string)))
            return cat(std::string_view(member.key()), " must be a list of strings");
        if (const auto* words = rules.if_contains("enum");
            words != nullptr && std::ranges::find(words->get_array(), value) == words->get_array().end())
            return cat(std::string_view(member.key()), " must be one of ", json::to_text(*words));
    }
    return std::nullopt;
}

} // namespace

json::object to_json(const Tool& tool) {
    return {{"name", tool.name},
            {"title", tool.title},
            {"description", tool.description},
            {"inputSchema", tool.input()},
            {"annotations",
             {{"title", tool.title},
              {"readOnlyHint", tool.reads_only},
              {"destructiveHint", tool.destroys},
              {"idempotentHint", tool.reads_only || tool.destroys},
              {"openWorldHint", false}}}};
}

std::optional<json::object> arguments_for(const Tool& tool, Request& request) {
    json::object arguments;
    if (auto* given = request.params.if_contains("arguments"); given != nullptr && !given->is_null()) {
        if (!given->is_object()) {
            request.refuse(rpc::invalid_params, "arguments must be an object");
            return std::nullopt;
        }
        arguments = std::move(given->get_object());
    }
    const auto input = tool.input();
    make_whole(arguments, input);
    if (const auto off = wrong(arguments, input)) {
        request.trouble(*off);
        return std::nullopt;
    }
    return arguments;
}

json::object text_property(std::string_view description) {
    return {{"type", "string"}, {"description", description}};
}

json::object object_schema(json::object properties, json::array required) {
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

} // namespace holdfast::mcp
