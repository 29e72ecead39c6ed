#include "rpc/message_ids.hpp"

#include "json/json_scan.hpp"

#include "base/text.hpp"
#include "json/json_string.hpp"

namespace holdfast::rpc {

namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool can_be_id(std::string_view value) {
    return !value.empty() &&
           (value.front() == '"' || value.front() == '-' || (value.front() >= '0' && value.front() <= '9'));
}

bool is_named_id(std::string_view key) {
    return key == "id" || (key.find('\\') != key.npos && json::unquote(base::cat('"', key, '"')) == "id");
}

} // namespace

std::string_view raw_id_of(std::string_view message) noexcept {
    std::string_view id;
    json::ObjectReader reader(message);
    while (reader.next())
        if (is_named_id(reader.key()))
            id = reader.value(); // the last one counts, as with parsers
    return reader.complete() && can_be_id(id) ? id : std::string_view("null");
}

std::vector<std::string_view> elements_of(std::string_view list) {
    std::vector<std::string_view> out;
    const auto skip = [list](std::size_t at) {
        while (at < list.size() && is_blank(list[at]))
            ++at;
        return at;
    };
    std::size_t at = skip(0);
    if (at == list.size() || list[at] != '[')
        return out;
    for (at = skip(at + 1); at < list.size() && list[at] != ']';) {
        const std::size_t end = json::extent_of_value(list, at).end;
        if (end == list.npos)
            break;
        out.push_back(list.substr(at, end - at));
        at = skip(end);
        if (at < list.size() && list[at] == ',')
            at = skip(at + 1);
    }
    return out;
}

} // namespace holdfast::rpc
