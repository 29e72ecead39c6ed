// String literals: a text written as one, and one read back. Nothing else of JSON is needed for either, and
// no values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::json {

// Bytes in a string that are not UTF-8 stay as they are (records: a command line may carry any bytes), or
// become U+FFFD (what leaves the project: JSON is UTF-8).
enum class Bytes : bool { kept, as_utf8 };

// The literal of a text, quotes included.
void append_string(std::string& out, std::string_view text, Bytes bytes);
std::string quote(std::string_view text); // as_utf8

// The text of a literal; nothing when it is not one. Half of a surrogate pair becomes U+FFFD.
std::optional<std::string> unquote(std::string_view literal);

} // namespace holdfast::json
