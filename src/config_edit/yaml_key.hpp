// One key in somebody else's YAML file: `section:` at the top, `key:` directly below it. Only the bytes of
// that key change; comments, order, quoting and line ends of everything else stay. What cannot be changed
// that way with certainty is refused with the words a person needs to do it by hand. Pure.
#pragma once

#include "holdfast/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::config_edit {

struct YamlKey {
    std::string_view section;
    std::string_view key;
};

// The value as text, without its quotes; nothing when the key is not there. Errors: invalid_argument, when
// the text is not a plain mapping of blocks around that key.
Result<std::optional<std::string>> yaml_value(std::string_view text, YamlKey where);

// The text with the key set. `value` must be a plain word. The same text when it is set already.
Result<std::string> yaml_with(std::string_view text, YamlKey where, std::string_view value);

// The text without the key, and without its section when nothing else is in it.
Result<std::string> yaml_without(std::string_view text, YamlKey where);

} // namespace holdfast::config_edit
