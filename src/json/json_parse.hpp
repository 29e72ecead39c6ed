// Text to values: the one parser, with limits. The grammar is RFC 8259.
//
// A fraction becomes the double that is nearest to what is written. (Boost 1.81 alone computes it by
// multiplying, which is off by the last bit for one in some ten: what was stored would come back from an
// export as another number.)
#pragma once

#include "json/json.hpp"

#include "holdfast/result.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

namespace holdfast::json {

// Strings may hold any bytes; or only UTF-8.
enum class Strings : bool { utf8, any_bytes };
// Python writes half of a surrogate pair (\udce9) for a file name that is not UTF-8, and JavaScript for a
// text cut in the middle of an emoji. It is refused, or becomes U+FFFD.
enum class HalfPairs : bool { refused, replaced };

struct Limits {
    std::size_t depth = 200;                    // of arrays and objects in each other
    std::size_t bytes = std::string_view::npos; // a longer text is refused unread
    Strings strings = Strings::utf8;
    HalfPairs half_pairs = HalfPairs::refused;
};

// For what Holdfast's programs write for each other, records above all: shallow, so that a hostile file
// cannot exhaust the stack. A command line may carry any bytes, and its record must stay readable.
inline constexpr Limits record_limits{.depth = 16, .strings = Strings::any_bytes};

// Errors: overflow (nested deeper than, or longer than, the limits allow), protocol (it is not JSON). The
// message is the reason alone, to stand behind "not JSON: ". The values are kept in `memory`.
Result<value> parse(std::string_view text, const Limits& limits = {}, const storage_ptr& memory = {});

// The text as an object, or nothing: for readers to whom everything else is the same as no text.
std::optional<object> parse_object(std::string_view text, const Limits& limits = record_limits,
                                   const storage_ptr& memory = {});

} // namespace holdfast::json
