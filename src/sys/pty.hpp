// Pseudo-terminals.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <string>

namespace holdfast::sys {

struct WindowSize {
    unsigned short columns = 80;
    unsigned short rows = 24;
};

struct Pty {
    Fd master; // non-blocking
    Fd slave;
};

// Both close-on-exec, and nobody's controlling terminal.
Result<Pty> open_pty();

// Whoever runs on the terminal gets SIGWINCH.
Result<void> set_window_size(int master, WindowSize size);

// What to write to the master so that whoever reads the terminal sees the end of input. `line_open`: what was
// written before does not end with a line break.
std::string end_of_input(int master, bool line_open);

} // namespace holdfast::sys
