// Pipes to a process whose other end may be gone at any time.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <cstddef>
#include <string_view>

namespace holdfast::sys {

struct Pipe {
    Fd reading;
    Fd writing;
};

// Both ends close-on-exec and blocking.
Result<Pipe> make_pipe();
Result<void> set_nonblocking(int fd);

enum class WriteState { some, would_block, broken };
struct Written {
    WriteState state = WriteState::some;
    std::size_t bytes = 0;
};

// Writes what fits now. A reader that is gone is an answer, never a SIGPIPE to the host.
Written write_quietly(int fd, std::string_view bytes) noexcept;

} // namespace holdfast::sys
