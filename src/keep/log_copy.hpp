// stderr of a helper, to the host as ever and copied to a bounded file.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <cstdint>
#include <string>

namespace holdfast::keep {

inline constexpr std::uint64_t max_log_bytes = std::uint64_t{8}
                                               << 20; // then FILE becomes FILE.1 and a new one begins

class LogCopy {
public:
    static Result<LogCopy> open(const std::string& path);
    [[nodiscard]] int writing_end() const noexcept { return writing_.get(); } // becomes the helper's stderr
    [[nodiscard]] int reading_end() const noexcept { return reading_.get(); }
    // Keeps the host's stderr as the place to copy to.
    void take_over_stderr();
    void copy();  // what is there now
    void drain(); // all that is left in the pipe, without waiting

private:
    void append(const char* data, std::size_t size);
    std::string path_;
    sys::Fd file_;
    sys::Fd reading_;
    sys::Fd writing_;
    sys::Fd host_;
    std::uint64_t size_ = 0;
};

} // namespace holdfast::keep
