// Lines to import: from a file, from stdin, or from a database that holdfast-memory turns into lines.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"
#include "sys/pidfd.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::cli {

class LineSource {
public:
    // "-" is stdin. A SQLite database is recognised by its first bytes; `patience` is for the process that
    // reads it, from one sign of it to the next. Whoever writes to a pipe of the user's is waited for.
    static Result<LineSource> open(const std::string& path,
                                   std::optional<std::chrono::milliseconds> patience);

    struct Line {
        std::uint64_t number = 0;
        std::string_view text; // until the next call
        bool too_long = false;
    };
    // Nothing: that was all. An error after lines: what came before is sound. With EUCLEAN the database is
    // damaged, and that was all that can be read.
    Result<std::optional<Line>> next();

    [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_; }
    [[nodiscard]] std::uint64_t bytes_total() const noexcept { return size_; } // 0: not known
    // Whether this open file is the one that is read.
    [[nodiscard]] bool is_file_of(int fd) const noexcept;
    [[nodiscard]] bool from_database() const noexcept { return reader_.has_value(); }

    // What is around it in a request to holdfast-memory takes less than a kilobyte of the longest one there
    // is.
    static constexpr std::size_t longest_line = (std::size_t{31} << 20) - 1024;

private:
    LineSource() = default;
    Result<bool> fill(); // false: nothing more comes
    std::unexpected<Error> give_up();
    std::string path_;
    sys::Fd in_;
    std::optional<sys::PidFd> reader_;
    std::chrono::milliseconds patience_{};
    std::optional<std::pair<std::uint64_t, std::uint64_t>> inode_; // device and number, of a plain file
    std::uint64_t size_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t number_ = 0;
    bool ended_ = false;
    std::string buffer_;
    std::size_t used_ = 0; // of the buffer
};

} // namespace holdfast::cli
