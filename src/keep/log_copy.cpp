#include "keep/log_copy.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/own_rights.hpp"
#include "sys/pipes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace holdfast::keep {

namespace {
constexpr int open_flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
constexpr std::size_t host_buffer = std::size_t{64} << 10;
constexpr std::size_t piece = 4096;
constexpr std::int64_t stuck_after_ms = 1000;
} // namespace

Result<LogCopy> LogCopy::open(const std::string& path, const std::string& id) {
    LogCopy out;
    out.path_ = path;
    out.id_ = id;
    out.file_ = sys::Fd(::open(path.c_str(), open_flags, 0600));
    struct stat file{};
    if (!out.file_ || ::fstat(out.file_.get(), &file) != 0)
        return sys::fail_sys(base::cat("open the log ", path));
    sys::own_rights(out.file_.get(), file);
    out.size_ = static_cast<std::uint64_t>(file.st_size);
    auto pipe = sys::make_pipe();
    if (!pipe)
        return std::unexpected(std::move(pipe.error()));
    out.reading_ = std::move(pipe->reading);
    out.writing_ = std::move(pipe->writing);
    ::fcntl(out.reading_.get(), F_SETFL, O_NONBLOCK);
    out.host_ = sys::Fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    out.to_host_.emplace(sys::NonBlockingOut(out.host_.get()), host_buffer);
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
        if (file_)
            sys::own_rights(file_.get());
        size_ = 0;
    }
    if (file_ && ::write(file_.get(), data, size) > 0)
        size_ += size;
}

bool LogCopy::host_is_slow() const {
    return !to_host_->closed() && to_host_->room() < piece;
}

bool LogCopy::host_is_stuck() const {
    return host_is_slow() && sys::boottime_ms() - to_host_->moved_at() >= stuck_after_ms;
}

int LogCopy::reading_end() const {
    return host_is_slow() && !host_is_stuck() ? -1 : reading_.get();
}

sys::Deadline LogCopy::next() const {
    return host_is_slow() && !host_is_stuck() ? sys::Deadline::at(to_host_->moved_at() + stuck_after_ms)
                                              : sys::Deadline::never();
}

void LogCopy::copy() {
    to_host_->flush();
    say_what_was_left_out();
    if (!reading_ || reading_end() < 0)
        return;
    std::array<char, piece> buffer;
    ssize_t n = ::read(reading_.get(), buffer.data(), buffer.size());
    if (n == 0)
        reading_.reset(); // the tree has closed it
    if (n <= 0)
        return;
    append(buffer.data(), static_cast<std::size_t>(n));
    give_to_host({buffer.data(), static_cast<std::size_t>(n)});
}

void LogCopy::give_to_host(std::string_view bytes) {
    if (to_host_->closed())
        return;
    if (left_out_ != 0 || to_host_->room() < bytes.size()) {
        left_out_ += bytes.size();
        return;
    }
    to_host_->put(bytes);
    line_open_ = bytes.back() != '\n';
}

// In its place: after all that the host got before the gap.
void LogCopy::say_what_was_left_out() {
    if (left_out_ == 0 || to_host_->room() < piece)
        return;
    to_host_->put(base::cat(
        line_open_ ? "\n" : "", "holdfast: ", left_out_,
        " bytes of stderr were left out here, since they were not read; see: holdfast logs ", id_, '\n'));
    left_out_ = 0;
    line_open_ = false;
}

void LogCopy::drain() {
    for (;;) {
        copy();
        const sys::Deadline patience = sys::Deadline::at(to_host_->moved_at() + stuck_after_ms);
        const bool waits = !to_host_->empty() && !patience.passed();
        std::array<pollfd, 2> fds{{{.fd = reading_end(), .events = POLLIN, .revents = 0},
                                   {.fd = to_host_->fd(), .events = POLLOUT, .revents = 0}}};
        // The tree is gone: what is not in the pipe now does not come any more.
        if (::poll(fds.data(), fds.size(), waits ? patience.poll_timeout() : 0) <= 0 && !waits)
            return;
    }
}

} // namespace holdfast::keep
