#include "json/json_fields.hpp"

namespace holdfast::json {

std::optional<json::object> parse_object(std::string_view text, const json::storage_ptr& memory) {
    boost::system::error_code error;
    json::parse_options options;
    options.max_depth = 16;
    options.allow_invalid_utf8 =
        true; // a command line may carry any bytes, and its record must stay readable
    json::value value = json::parse({text.data(), text.size()}, error, memory, options);
    if (error || !value.is_object())
        return std::nullopt;
    return std::move(value.get_object());
}

std::string text_field(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains({key.data(), key.size()});
    if (!value || !value->is_string())
        return {};
    return {value->get_string().data(), value->get_string().size()};
}

std::int64_t integer_field(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains({key.data(), key.size()});
    if (value && value->is_int64())
        return value->get_int64();
    return 0;
}

std::uint64_t unsigned_field(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains({key.data(), key.size()});
    if (value && value->is_uint64())
        return value->get_uint64();
    if (value && value->is_int64() && value->get_int64() >= 0)
        return static_cast<std::uint64_t>(value->get_int64());
    return 0;
}

bool bool_field(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains({key.data(), key.size()});
    return value && value->is_bool() && value->get_bool();
}

std::vector<std::string> texts_field(const json::object& object, std::string_view key) {
    std::vector<std::string> out;
    const json::value* value = object.if_contains({key.data(), key.size()});
    if (!value || !value->is_array())
        return out;
    for (const json::value& item : value->get_array())
        if (item.is_string())
            out.emplace_back(item.get_string().data(), item.get_string().size());
    return out;
}

const json::object* object_field(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains({key.data(), key.size()});
    return value ? value->if_object() : nullptr;
}

json::array to_array(const std::vector<std::string>& texts) {
    json::array out;
    out.reserve(texts.size());
    for (const std::string& text : texts)
        out.emplace_back(text);
    return out;
}

} // namespace holdfast::json
