#include "json/json_fields.hpp"

namespace holdfast::json {

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

} // namespace holdfast::json
