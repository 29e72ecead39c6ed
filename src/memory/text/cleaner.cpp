#include "memory/text/cleaner.hpp"

#include "memory/text/redact.hpp"
#include "memory/text/secret_values.hpp"
#include "json/json_write.hpp"

namespace holdfast::memory {

namespace {

// `name`: the member it stands under; what is in a list stands under the list's name.
void clean(json::value& value, std::string_view name) {
    if (auto* text = value.if_string()) {
        if (auto redacted = redact_member(name, *text); redacted.count > 0)
            *text = redacted.text;
    } else if (value.is_number() && is_password_name(name)) {
        value = "[redacted:secret]";
    } else if (auto* list = value.if_array()) {
        for (auto& item : *list)
            clean(item, name);
    } else if (auto* object = value.if_object()) {
        bool names_clean = true;
        for (auto& member : *object) {
            clean(member.value(), member.key());
            names_clean = names_clean && redact(member.key()).count == 0;
        }
        if (names_clean)
            return;
        json::object renamed;
        for (auto& member : *object)
            renamed[redact(member.key()).text] = std::move(member.value());
        *object = std::move(renamed);
    }
}

} // namespace

std::string Cleaner::text(std::string text) const {
    return on_ ? redact(text).text : text;
}

std::string Cleaner::json(json::value value) const {
    if (on_)
        clean(value, "");
    return json::to_text(value, {.fractions = json::Fractions::stored});
}

} // namespace holdfast::memory
