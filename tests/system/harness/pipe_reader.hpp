// Reading what a child says, bounded in time. Bytes read but not asked for yet are kept for the next call.
#pragma once

#include "harness/deadline.hpp"
#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <regex>
#include <string>
#include <string_view>

namespace holdfast::harness {

class PipeReader {
public:
    PipeReader() = default;
    explicit PipeReader(sys::Fd fd);

    // Everything up to and including the first occurrence of `needle`. timed_out, or closed when the other
    // side ended first; the message then quotes what did come, and nothing is consumed.
    Result<std::string> read_until(std::string_view needle, const Deadline& deadline);
    // The next line, without its newline.
    Result<std::string> read_line(const Deadline& deadline);
    // Skips lines until one contains a match; returns that line.
    Result<std::string> read_line_matching(const std::regex& pattern, const Deadline& deadline);
    // Everything until end of file.
    Result<std::string> read_to_end(const Deadline& deadline);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }
    // One non-blocking read into the buffer: true while the other side may still write.
    Result<bool> drain_once();
    // What has been read and not consumed.
    [[nodiscard]] const std::string& buffered() const noexcept { return buffer_; }
    void close() { fd_.reset(); }

private:
    Result<bool> fill(const Deadline& deadline); // false: end of file
    sys::Fd fd_;
    std::string buffer_;
};

} // namespace holdfast::harness
