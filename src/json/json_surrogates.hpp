// JSON whose strings hold halves of characters: what Python writes for a file name that is not UTF-8, and
// JavaScript for a text cut in the middle of an emoji.
#pragma once

#include "json/json.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::json {

// Escapes of lone surrogates (\udce9) become \ufffd, in place; everything else stays as it is. Whether there
// were any.
bool mend_lone_surrogates(std::string& text);

// Parses, and where that fails for a lone surrogate, parses the text mended. Depth is bounded. What is not
// JSON otherwise is an error as ever.
json::value parse_mended(std::string_view text, boost::system::error_code& failed,
                         std::size_t max_depth = 200);

} // namespace holdfast::json
