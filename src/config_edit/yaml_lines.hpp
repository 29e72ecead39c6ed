// The lines of a YAML text, and which of them only go on with a value that began above: quoted text,
// brackets, text that is quoted by its indentation (| and >), and plain text over several lines. What is in
// those looks like anything and means nothing. Pure.
#pragma once

#include "holdfast/result.hpp"

#include <string_view>
#include <vector>

namespace holdfast::config_edit {

struct YamlLine {
    std::size_t begin = 0;
    std::size_t end = 0;  // before the line end
    std::size_t next = 0; // after it
    std::size_t indent = 0;
    bool content = false; // neither blank nor only a comment
    bool inside = false;  // of a value that began in a line above
};

// Errors: invalid_argument, for what cannot be told with certainty; the message names the line.
Result<std::vector<YamlLine>> yaml_lines(std::string_view text);

} // namespace holdfast::config_edit
