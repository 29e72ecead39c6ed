#include "json/json_exact.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <charconv>
#include <string>
#include <utility>

namespace holdfast::json {

namespace {

// What the parser finds goes onto a stack of values; numbers with a fraction are read again from their text.
struct Values {
    static constexpr std::size_t max_object_size = json::object::max_size();
    static constexpr std::size_t max_array_size = json::array::max_size();
    static constexpr std::size_t max_key_size = json::string::max_size();
    static constexpr std::size_t max_string_size = json::string::max_size();
    using Code = boost::system::error_code;
    using Text = json::string_view;

    json::value_stack stack;
    std::string number; // its beginning, where it comes in pieces

    bool on_document_begin(Code&) {
        stack.reset();
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
    bool on_int64(std::int64_t value, Text, Code&) {
        number.clear();
        stack.push_int64(value);
        return true;
    }
    bool on_uint64(std::uint64_t value, Text, Code&) {
        number.clear();
        stack.push_uint64(value);
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
    bool on_bool(bool value, Code&) {
        stack.push_bool(value);
        return true;
    }
    bool on_null(Code&) {
        stack.push_null();
        return true;
    }
    bool on_comment_part(Text, Code&) { return true; }
    bool on_comment(Text, Code&) { return true; }
};

} // namespace

json::value parse_exact(std::string_view text, boost::system::error_code& failed, std::size_t max_depth) {
    json::parse_options options;
    options.max_depth = max_depth;
    json::basic_parser<Values> parser(options);
    failed.clear();
    const std::size_t used = parser.write_some(false, text.data(), text.size(), failed);
    if (!failed && used < text.size())
        failed = json::error::extra_data;
    if (failed)
        return nullptr;
    return parser.handler().stack.release();
}

} // namespace holdfast::json
