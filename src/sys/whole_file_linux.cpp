#include "sys/whole_file.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/own_rights.hpp"
#include "sys/proc.hpp"
#include "sys/random.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace holdfast::sys {

namespace {

// Writes the text to path + ".tmp". `mode`: O_TRUNC, or 0 to write over what is there.
Result<void> write_temporary(const std::string& temporary, std::string_view text, int mode) {
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | mode;
    Fd fd = own_fd(::open(temporary.c_str(), flags, 0600));
    // Somebody else's file, a link or a pipe stands under that name: in a directory of ours it has no
    // business there.
    int why = errno;
    if (!fd && (why == EACCES || why == EPERM || why == ELOOP || why == ENXIO) &&
        ::unlink(temporary.c_str()) == 0) {
        fd = own_fd(::open(temporary.c_str(), flags | O_EXCL, 0600));
        why = errno;
    }
    if (!fd)
        return fail_making(base::cat("write ", temporary), why);
    auto failed = [&](int error) {
        ::unlink(temporary.c_str());
        return fail_sys(base::cat("write ", temporary), error);
    };
    const auto length = static_cast<off_t>(text.size());
    if (int error = write_all(fd.get(), text))
        return failed(error);
    struct stat file{};
    if (::fstat(fd.get(), &file) != 0 ||
        (mode == 0 && file.st_size != length && ::ftruncate(fd.get(), length) != 0))
        return failed(errno);
    own_rights(fd.get(), file);
    return {};
}

// True when the old one is now the temporary. There was none, or the file system cannot exchange: false.
Result<bool> put_in_place(const std::string& temporary, const std::string& path) {
    // Exchanged and not renamed: a rename over a file makes ext4 write the new one to the disk first, which
    // is ten times slower and kept for files that must outlive the machine.
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0)
        return true;
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return fail_making(base::cat("rename ", temporary, " to ", path));
    return false;
}

} // namespace

int write_all(int fd, std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
}

int read_to_end(int fd, std::string& out, std::size_t limit, ReadEnd end) {
    std::array<char, 4096> buffer;
    for (;;) {
        const ssize_t n = ::read(fd, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        out.append(buffer.data(), static_cast<std::size_t>(n));
        if (out.size() > limit)
            return EFBIG;
        if (n == 0 || (end == ReadEnd::short_read && static_cast<std::size_t>(n) < buffer.size()))
            return 0;
    }
}

Result<void> write_whole_text(int fd, std::string_view text) {
    if (const int error = write_all(fd, text))
        return fail_sys("write", error);
    return {};
}

Result<void> check_place_for(const std::string& path) {
    struct stat file{};
    if (::lstat(path.c_str(), &file) == 0) {
        if (!S_ISREG(file.st_mode))
            return fail(Errc::cannot_create,
                        base::cat(path, " is there and is not a plain file; name another"));
    } else if (errno != ENOENT) {
        return fail_making(base::cat("look at ", path));
    }
    std::size_t slash = path.rfind('/');
    std::string directory =
        slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
    if (path.empty() || slash + 1 == path.size() ||
        ::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        return fail_making(base::cat("write ", path));
    return {};
}

Result<void> put_whole(const std::string& path, std::string_view text) {
    if (auto ok = check_place_for(path); !ok)
        return ok;
    std::string temporary = base::cat(path, '.', random_token());
    Fd fd = own_fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd)
        return fail_making(base::cat("write ", temporary));
    own_rights(fd.get());
    int error = write_all(fd.get(), text);
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0)
        error = errno;
    if (error == 0)
        return {};
    ::unlink(temporary.c_str());
    return fail_making(base::cat("write ", path), error);
}

Result<void> write_whole(const std::string& path, std::string_view text) {
    std::string temporary = path + ".tmp";
    if (auto written = write_temporary(temporary, text, O_TRUNC); !written)
        return written;
    auto exchanged = put_in_place(temporary, path);
    if (!exchanged)
        return std::unexpected(exchanged.error());
    if (*exchanged)
        ::unlink(temporary.c_str());
    return {};
}

Result<void> rewrite_whole(const std::string& path, std::string_view text) {
    std::string temporary = path + ".tmp";
    if (auto written = write_temporary(temporary, text, 0); !written)
        return written;
    auto exchanged = put_in_place(temporary, path);
    return exchanged ? Result<void>{} : std::unexpected(exchanged.error());
}

std::optional<std::string> read_rewritten(const std::string& path, std::size_t limit) {
    for (;;) {
        Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (!fd)
            return std::nullopt;
        std::string out;
        if (read_to_end(fd.get(), out, limit, ReadEnd::short_read) != 0)
            return std::nullopt;
        // Still in its place: otherwise the next text may already stand in it, before it is said.
        struct stat mine{}, there{};
        if (::fstat(fd.get(), &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
            mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
            return out;
    }
}

} // namespace holdfast::sys
