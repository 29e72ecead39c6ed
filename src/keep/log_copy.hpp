// stderr of a helper, to the host as ever and copied to a bounded file.
//
// The host gets every byte, as long as it reads: when it is slow, so is the helper, as without a log. When it
// has read nothing for a while, the helper is not held up any longer: what comes then is in the file only,
// and a line in the host's stderr says how much that was.
#pragma once

#include "holdfast/result.hpp"
#include "keep/out_buffer.hpp"
#include "sys/clock.hpp"
#include "sys/fd.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::keep {

inline constexpr std::uint64_t max_log_bytes = std::uint64_t{8}
                                               << 20; // then FILE becomes FILE.1 and a new one begins

class LogCopy {
public:
    // `id`: of the entry, for the line about what was left out.
    static Result<LogCopy> open(const std::string& path, const std::string& id);
    [[nodiscard]] int writing_end() const noexcept { return writing_.get(); } // becomes the helper's stderr
    // To poll for POLLIN; -1 while the host has not taken what was read before.
    [[nodiscard]] int reading_end() const;
    // To poll for POLLOUT; -1 when the host has everything.
    [[nodiscard]] int host_end() const noexcept { return to_host_->fd(); }
    // When to call copy() even if nothing was polled: a host that does not read has been waited for enough.
    [[nodiscard]] sys::Deadline next() const;
    // Keeps the host's stderr as the place to copy to.
    void take_over_stderr();
    void copy();  // what is there now, as far as it can be
    void drain(); // all that is left in the pipe; waits for the host only as long as it reads

private:
    [[nodiscard]] bool host_is_slow() const;  // there is no room for another piece
    [[nodiscard]] bool host_is_stuck() const; // and has not been for a while
    void append(const char* data, std::size_t size);
    void give_to_host(std::string_view bytes);
    void say_what_was_left_out();
    std::string path_;
    std::string id_;
    sys::Fd file_;
    sys::Fd reading_;
    sys::Fd writing_;
    sys::Fd host_;
    std::optional<OutBuffer> to_host_;
    std::uint64_t size_ = 0;
    std::uint64_t left_out_ = 0;
    bool line_open_ = false; // what the host got last was not the end of a line
};

} // namespace holdfast::keep
