#include "json/json_sorted.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::json {

namespace {

// NOLINTNEXTLINE(misc-no-recursion): as deep as the value, which the parser has bounded
void sort_members(json::value& value) {
    if (auto* list = value.if_array()) {
        for (auto& element : *list)
            sort_members(element);
    } else if (auto* object = value.if_object()) {
        std::vector<std::pair<std::string, json::value>> members;
        members.reserve(object->size());
        for (auto& member : *object) {
            sort_members(member.value());
            members.emplace_back(member.key(), std::move(member.value()));
        }
        std::ranges::sort(members, {}, [](const auto& member) -> const std::string& { return member.first; });
        json::object sorted;
        for (auto& [name, content] : members)
            sorted.emplace(name, std::move(content));
        *object = std::move(sorted);
    }
}

} // namespace

std::string sorted_json_text(json::value value) {
    sort_members(value);
    return json::serialize(value);
}

} // namespace holdfast::json
