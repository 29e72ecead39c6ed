// Any bytes: the scanner, the parser and Boost.JSON agree on what is JSON, the members found are values
// themselves, what is written is read as the same values, and what is quoted can be read again.
#include "base/utf8.hpp"
#include "expect.hpp"

#include "rpc/message.hpp"
#include "json/json_parse.hpp"
#include "json/json_scan.hpp"
#include "json/json_string.hpp"
#include "json/json_write.hpp"

#include <boost/json.hpp>

#include <string>

using namespace holdfast::json;
using namespace holdfast::rpc;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    boost::json::parse_options options;
    options.max_depth = max_depth;
    boost::system::error_code error;
    static_cast<void>(boost::json::parse(text, error, {}, options));
    const bool ours = is_json(text) && holdfast::base::is_utf8(text);
    // Boost refuses half a surrogate pair written as an escape, and numbers whose exponent is out of range;
    // the grammar allows both.
    const bool lenient =
        text.find("\\u") != std::string::npos || text.find_first_of("eE") != std::string::npos;
    FUZZ_EXPECT(ours == !error || (ours && lenient));

    const auto values = holdfast::json::parse(text, {.depth = max_depth});
    FUZZ_EXPECT(values.has_value() == !error);
    static_cast<void>(holdfast::json::parse(text, {.depth = 16, .half_pairs = HalfPairs::replaced}));
    static_cast<void>(holdfast::json::parse(text, record_limits));
    if (values) {
        const auto written = to_text(*values);
        FUZZ_EXPECT(is_json(written));
        const auto again = holdfast::json::parse(written, {.depth = max_depth});
        FUZZ_EXPECT(again && to_text(*again) == written);
        FUZZ_EXPECT(to_text(*again, {.members = Members::sorted}) ==
                    to_text(*values, {.members = Members::sorted}));
    }

    ObjectReader reader(text);
    while (reader.next())
        FUZZ_EXPECT(is_json(reader.value()));
    FUZZ_EXPECT(!reader.complete() || is_json(text));

    const Message message = classify(text);
    std::string storage;
    static_cast<void>(message.method_name(storage));
    static_cast<void>(answer_id_of_head(text));
    static_cast<void>(read_error(text));
    FUZZ_EXPECT(message.kind == MessageKind::noise || ours);

    const std::string literal = quote(text);
    FUZZ_EXPECT(is_json(literal) && holdfast::base::is_utf8(literal));
    const auto back = unquote(literal);
    FUZZ_EXPECT(back && (!holdfast::base::is_utf8(text) || *back == text));
    if (const auto plain = unquote(text); plain && holdfast::base::is_utf8(text))
        FUZZ_EXPECT(holdfast::base::is_utf8(*plain));
    return 0;
}
