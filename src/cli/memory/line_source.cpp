#include "cli/memory/line_source.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cli/memory/memory.hpp"
#include "cli/shared/exit_codes.hpp"
#include "sys/errors.hpp"
#include "sys/pipes.hpp"
#include "sys/spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace holdfast::cli {

using base::cat;

Result<LineSource> LineSource::open(const std::string& path,
                                    std::optional<std::chrono::milliseconds> patience) {
    LineSource source;
    source.path_ = path;
    source.patience_ = patience.value_or(std::chrono::minutes(10));
    struct stat info{};
    const auto note_inode = [&] {
        if (S_ISREG(info.st_mode))
            source.inode_.emplace(info.st_dev, info.st_ino);
    };
    if (path == "-") {
        source.in_ = sys::Fd(::dup(STDIN_FILENO));
        if (source.in_ && ::fstat(source.in_.get(), &info) == 0)
            note_inode();
        return source;
    }
    source.in_ = sys::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source.in_ || ::fstat(source.in_.get(), &info) != 0) {
        const int error = errno;
        auto failed = sys::fail_sys(cat("open ", path)).error();
        if (error == ENOENT)
            failed.code = Errc::not_found;
        return std::unexpected(std::move(failed));
    }
    if (S_ISDIR(info.st_mode))
        return fail(Errc::invalid_argument, cat(path, " is a directory; name a file"));
    note_inode();
    if (S_ISREG(info.st_mode))
        source.size_ = static_cast<std::uint64_t>(info.st_size);
    std::array<char, 4096> head{};
    const auto n = ::pread(source.in_.get(), head.data(), head.size(), 0);
    const std::string_view beginning(head.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (!beginning.starts_with(std::string_view("SQLite format 3\0", 16))) {
        if (beginning.find('\0') == beginning.npos)
            return source;
        return fail(
            Errc::invalid_argument,
            cat(path,
                " holds neither lines of JSON nor a SQLite database. If it was a database, its first page "
                "is damaged: the program sqlite3 may still read some of it (sqlite3 FILE .recover)"));
    }
    auto program = find_memory_program();
    if (!program)
        return std::unexpected(std::move(program.error()));
    auto pipe = sys::make_pipe();
    if (!pipe)
        return std::unexpected(std::move(pipe.error()));
    sys::SpawnSpec spec;
    spec.argv = {"holdfast-memory", cat("--lines-of=", path)};
    spec.executable = *program;
    spec.fds = {{pipe->writing.get(), 1}};
    auto reader = sys::spawn(spec);
    if (!reader)
        return std::unexpected(std::move(reader.error()));
    source.reader_ = std::move(*reader);
    source.in_ = std::move(pipe->reading);
    source.size_ = 0;
    return source;
}

bool LineSource::is_file_of(int fd) const noexcept {
    struct stat info{};
    return inode_ && ::fstat(fd, &info) == 0 && inode_->first == info.st_dev && inode_->second == info.st_ino;
}

std::unexpected<Error> LineSource::give_up() {
    (void)reader_->signal(SIGKILL);
    return fail(Errc::timed_out,
                cat("waited ", base::format_duration(patience_), " for holdfast-memory (process ",
                    reader_->pid(), "), which reads ", path_,
                    " and got no further; it was ended. Wait for longer with --timeout"));
}

Result<bool> LineSource::fill() {
    buffer_.erase(0, used_);
    used_ = 0;
    const auto before = buffer_.size();
    constexpr std::size_t chunk = std::size_t{256} << 10;
    buffer_.resize(before + chunk);
    ssize_t n = 0;
    pollfd there{in_.get(), POLLIN, 0};
    if (reader_ && ::poll(&there, 1, sys::Deadline::in(patience_).poll_timeout()) == 0)
        return give_up();
    do {
        n = ::read(in_.get(), buffer_.data() + before, chunk);
    } while (n < 0 && errno == EINTR);
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0)
        return sys::fail_sys(cat("read ", path_));
    bytes_ += static_cast<std::uint64_t>(n);
    return n > 0;
}

Result<std::optional<LineSource::Line>> LineSource::next() {
    bool too_long = false;
    for (std::size_t searched = used_;;) {
        const auto end = buffer_.find('\n', searched);
        if (end == buffer_.npos && !ended_) {
            // What is over the limit is skipped to its end, at constant memory.
            if (buffer_.size() - used_ > longest_line) {
                too_long = true;
                used_ = buffer_.size();
            }
            searched = buffer_.size() - used_;
            auto more = fill();
            if (!more)
                return std::unexpected(std::move(more.error()));
            ended_ = !*more;
            continue;
        }
        const auto stop = std::min(end, buffer_.size());
        auto text = std::string_view(buffer_).substr(used_, stop - used_);
        if (number_ == 0 && text.starts_with("\xef\xbb\xbf"))
            text.remove_prefix(3); // the mark that some editors begin a file with
        if (end == buffer_.npos && text.empty() && !too_long)
            break;
        used_ = std::min(stop + 1, buffer_.size());
        searched = used_;
        ++number_;
        too_long = too_long || text.size() > longest_line;
        if (!too_long && text.find_first_not_of(" \t\r") == text.npos)
            continue;
        return Line{number_, text, too_long};
    }
    // Its own words are on stderr already; here it is only said that this was not all.
    if (reader_ && !reader_->wait_ended(sys::Deadline::in(patience_)))
        return give_up();
    if (reader_)
        if (const auto exit = reader_->try_reap(); exit && exit->status != 0)
            return fail(Errc::protocol, cat("not everything in ", path_, " could be read"),
                        exit->status == exit_bad_data ? EUCLEAN : 0);
    return std::nullopt;
}

} // namespace holdfast::cli
