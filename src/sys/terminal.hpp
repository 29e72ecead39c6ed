// What a descriptor shows to a person.
#pragma once

#include <cstddef>

namespace holdfast::sys {

// A terminal that can take a line back and write it again: not a file, not a pipe, and not TERM=dumb.
bool shows_moving_lines(int fd) noexcept;

// As it is at the moment, a person may drag it; 80 where it does not say.
std::size_t terminal_columns(int fd) noexcept;

} // namespace holdfast::sys
