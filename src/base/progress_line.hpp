// How far something is, as one line of a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::base {

// "importing  [#########---------------------]  30 %  4,711 lines": what, a bar and a percentage (where
// `total` is known, that is: not 0), a note. Never wider than `columns` - 1, so that no terminal breaks the
// line in two, where the next one could not cover it: a narrow terminal gets a shorter bar, then a shorter
// note, then no bar, and what is left is cut.
std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          std::string_view note, std::size_t columns);

} // namespace holdfast::base
