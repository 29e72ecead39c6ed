#include "json/json_parse.hpp"

#include "base/hex.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

namespace holdfast::json {

namespace {

// The parser puts each value that it finds onto a stack; numbers with a fraction are read again from their
// text.
struct Values {
    static constexpr std::size_t max_object_size = object::max_size();
    static constexpr std::size_t max_array_size = array::max_size();
    static constexpr std::size_t max_key_size = string::max_size();
    static constexpr std::size_t max_string_size = string::max_size();
    using Code = boost::system::error_code;
    using Text = string_view;

    // On the caller's stack: a record needs no more, and so no memory of its own.
    std::array<unsigned char, 4096> first;
    boost::json::value_stack stack{{}, first.data(), first.size()};
    storage_ptr memory;
    std::string number; // its beginning, where it comes in pieces

    explicit Values(const storage_ptr& in)
        : memory(in) {}

    bool on_document_begin(Code&) {
        stack.reset(memory);
        return true;
    }
    bool on_document_end(Code&) { return true; }
    bool on_object_begin(Code&) { return true; }
    bool on_object_end(std::size_t n, Code&) {
        stack.push_object(n);
        return true;
    }
    bool on_array_begin(Code&) { return true; }
    bool on_array_end(std::size_t n, Code&) {
        stack.push_array(n);
        return true;
    }
    bool on_key_part(Text part, std::size_t, Code&) {
        stack.push_chars(part);
        return true;
    }
    bool on_key(Text last, std::size_t, Code&) {
        stack.push_key(last);
        return true;
    }
    bool on_string_part(Text part, std::size_t, Code&) {
        stack.push_chars(part);
        return true;
    }
    bool on_string(Text last, std::size_t, Code&) {
        stack.push_string(last);
        return true;
    }
    bool on_number_part(Text part, Code&) {
        number.append(part.data(), part.size());
        return true;
    }
    bool on_int64(std::int64_t read, Text, Code&) {
        number.clear();
        stack.push_int64(read);
        return true;
    }
    bool on_uint64(std::uint64_t read, Text, Code&) {
        number.clear();
        stack.push_uint64(read);
        return true;
    }
    bool on_double(double nearly, Text last, Code&) {
        number.append(last.data(), last.size());
        double exact = 0;
        const auto read = std::from_chars(number.data(), number.data() + number.size(), exact);
        // Beyond what a double can hold: as Boost has it.
        stack.push_double(read.ec == std::errc{} ? exact : nearly);
        number.clear();
        return true;
    }
    bool on_bool(bool read, Code&) {
        stack.push_bool(read);
        return true;
    }
    bool on_null(Code&) {
        stack.push_null();
        return true;
    }
    bool on_comment_part(Text, Code&) { return true; }
    bool on_comment(Text, Code&) { return true; }
};

constexpr std::size_t escape_size = 6; // \uXXXX

// The unit that an escape at this place stands for; 0 where there is none.
std::uint32_t unit_at(std::string_view text, std::size_t at) {
    if (at + escape_size > text.size() || text[at] != '\\' || text[at + 1] != 'u')
        return 0;
    std::uint32_t unit = 0;
    for (std::size_t i = 2; i < escape_size; ++i) {
        const int digit = base::hex_value(text[at + i]);
        if (digit < 0)
            return 0;
        unit = unit << 4U | static_cast<std::uint32_t>(digit);
    }
    return unit;
}

bool is_leading(std::uint32_t unit) {
    return unit >= 0xd800 && unit < 0xdc00;
}
bool is_trailing(std::uint32_t unit) {
    return unit >= 0xdc00 && unit < 0xe000;
}

// Escapes of halves become \ufffd; everything else stays as it is. Nothing when there are none.
std::optional<std::string> without_half_pairs(std::string_view text) {
    std::optional<std::string> out;
    // Outside of strings JSON has no backslash, so where a string begins need not be known.
    for (std::size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at)) {
        const auto unit = unit_at(text, at);
        if (is_leading(unit) && is_trailing(unit_at(text, at + escape_size))) {
            at += 2 * escape_size;
        } else if (is_leading(unit) || is_trailing(unit)) {
            if (!out)
                out = text;
            out->replace(at, escape_size, "\\ufffd");
            at += escape_size;
        } else {
            at += 2; // what is escaped may be a backslash
        }
    }
    return out;
}

Result<value> parse_as_it_is(std::string_view text, const Limits& limits, const storage_ptr& memory) {
    boost::json::parse_options options;
    options.max_depth = limits.depth;
    options.allow_invalid_utf8 = limits.strings == Strings::any_bytes;
    boost::json::basic_parser<Values> parser(options, memory);
    boost::system::error_code failed;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), failed);
    if (!failed && used < text.size())
        failed = boost::json::error::extra_data;
    if (failed)
        return fail(failed == boost::json::error::too_deep ? Errc::overflow : Errc::protocol,
                    failed.message());
    return parser.handler().stack.release();
}

} // namespace

Result<value> parse(std::string_view text, const Limits& limits, const storage_ptr& memory) {
    if (text.size() > limits.bytes)
        return fail(Errc::overflow, "too long");
    auto read = parse_as_it_is(text, limits, memory);
    if (read || limits.half_pairs == HalfPairs::refused)
        return read;
    // Only now: what is sound, and that is nearly all, is read once.
    const auto whole = without_half_pairs(text);
    if (!whole)
        return read;
    auto again = parse_as_it_is(*whole, limits, memory);
    // Too deep is said in its own words, since a caller then still looks for the id.
    return again || again.error().code == Errc::overflow ? std::move(again) : std::move(read);
}

std::optional<object> parse_object(std::string_view text, const Limits& limits, const storage_ptr& memory) {
    auto read = parse(text, limits, memory);
    if (!read || !read->is_object())
        return std::nullopt;
    return std::move(read->get_object());
}

} // namespace holdfast::json
