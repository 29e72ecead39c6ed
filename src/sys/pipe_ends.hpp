// Whether anybody is left at the other end of a pipe that another process holds. The kernel counts the ends,
// so the answer covers holders we may not see: other users' processes, other PID namespaces, descriptors in
// flight.
#pragma once

#include <sys/types.h>

namespace holdfast::sys {

enum class PipeEnd {
    unknown, // not a pipe, a named one (anybody may open it later), or not ours to look at
    held,
    gone,
};

struct PipeInput {
    PipeEnd writers = PipeEnd::unknown;
    bool unread = false; // bytes wait in it
};

// Descriptor `fd` of `pid` is the read end of a pipe: are there writers? Nothing is read from it; for an
// instant there is one more reader.
PipeInput look_at_pipe_input(pid_t pid, int fd);

// Descriptor `fd` of `pid` is the write end of a pipe: are there readers? Nothing is written; for an instant
// there is one more writer.
PipeEnd look_at_pipe_output(pid_t pid, int fd);

} // namespace holdfast::sys
