#include "harness/pipe_reader.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"

#include <fcntl.h>
#include <poll.h>

namespace holdfast::harness {

PipeReader::PipeReader(sys::Fd fd)
    : fd_(std::move(fd)) {
    // Non-blocking, so that a wake-up without bytes can never hang past the deadline.
    if (fd_)
        ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

Result<bool> PipeReader::drain_once() {
    if (!fd_)
        return false;
    char chunk[4096];
    const ssize_t n = ::read(fd_.get(), chunk, sizeof chunk);
    if (n > 0) {
        buffer_.append(chunk, static_cast<std::size_t>(n));
        return true;
    }
    if (n == 0 || errno == EIO) // EIO: the other end of a terminal is gone
        return false;
    if (errno == EAGAIN || errno == EINTR)
        return true;
    return sys::fail_sys("read from the child");
}

Result<bool> PipeReader::fill(const Deadline& deadline) {
    if (!fd_)
        return false;
    for (;;) {
        pollfd poller{fd_.get(), POLLIN, 0};
        const int ready = ::poll(&poller, 1, deadline.remaining_ms());
        if (ready < 0 && errno != EINTR)
            return sys::fail_sys("poll on the child's pipe");
        if (ready > 0)
            return drain_once();
        if (deadline.passed())
            return fail(Errc::timed_out, base::cat("nothing more came in time; so far: \"", buffer_, "\""));
    }
}

Result<std::string> PipeReader::read_until(std::string_view needle, const Deadline& deadline) {
    for (;;) {
        const auto at = buffer_.find(needle);
        if (at != std::string::npos) {
            std::string taken = buffer_.substr(0, at + needle.size());
            buffer_.erase(0, at + needle.size());
            return taken;
        }
        auto more = fill(deadline);
        if (!more)
            return std::unexpected(more.error());
        if (!*more)
            return fail(Errc::closed, base::cat("the child closed its end without \"", needle,
                                                "\"; it said: \"", buffer_, "\""));
    }
}

Result<std::string> PipeReader::read_line(const Deadline& deadline) {
    auto line = read_until("\n", deadline);
    if (line)
        line->pop_back();
    return line;
}

Result<std::string> PipeReader::read_line_matching(const std::regex& pattern, const Deadline& deadline) {
    for (;;) {
        auto line = read_line(deadline);
        if (!line || std::regex_search(*line, pattern))
            return line;
    }
}

Result<std::string> PipeReader::read_to_end(const Deadline& deadline) {
    for (;;) {
        auto more = fill(deadline);
        if (!more)
            return std::unexpected(more.error());
        if (!*more)
            return std::exchange(buffer_, {});
    }
}

} // namespace holdfast::harness
