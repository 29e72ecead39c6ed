#include "keep/log_copy.hpp"

#include "core/text.hpp"
#include "sys/errors.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>

namespace holdfast::keep {

namespace {
constexpr int open_flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
}

Result<LogCopy> LogCopy::open(const std::string& path) {
    LogCopy out;
    out.path_ = path;
    out.file_ = sys::Fd(::open(path.c_str(), open_flags, 0600));
    struct stat file{};
    if (!out.file_ || ::fstat(out.file_.get(), &file) != 0)
        return sys::fail_sys(core::cat("open the log ", path));
    out.size_ = static_cast<std::uint64_t>(file.st_size);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return sys::fail_sys("create a pipe");
    out.reading_ = sys::Fd(ends[0]);
    out.writing_ = sys::Fd(ends[1]);
    ::fcntl(out.reading_.get(), F_SETFL, O_NONBLOCK);
    out.host_ = sys::Fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    return out;
}

void LogCopy::take_over_stderr() {
    writing_.reset(); // only the tree writes now
    ::dup2(file_.get(), STDERR_FILENO);
}

void LogCopy::append(const char* data, std::size_t size) {
    if (size_ + size > max_log_bytes) {
        ::rename(path_.c_str(), (path_ + ".1").c_str());
        file_ = sys::Fd(::open(path_.c_str(), open_flags, 0600));
        size_ = 0;
    }
    if (file_ && ::write(file_.get(), data, size) > 0)
        size_ += size;
}

void LogCopy::copy() {
    std::array<char, PIPE_BUF> buffer; // what a pipe that is writable at all takes without blocking
    ssize_t n = ::read(reading_.get(), buffer.data(), buffer.size());
    if (n == 0)
        reading_.reset(); // the tree has closed it
    if (n <= 0)
        return;
    append(buffer.data(), static_cast<std::size_t>(n));
    // The host's stderr may be a pipe that nobody reads. The helper must not hang on that, and neither must
    // we: what does not fit at once is in the file only.
    pollfd one{.fd = host_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&one, 1, 0) > 0 && (one.revents & POLLOUT))
        (void)!::write(host_.get(), buffer.data(), static_cast<std::size_t>(n));
}

void LogCopy::drain() {
    while (reading_) {
        pollfd one{.fd = reading_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&one, 1, 0) <= 0)
            return;
        copy();
    }
}

} // namespace holdfast::keep
