#include "sys/whole_file.hpp"

#include "core/text.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace holdfast::sys {

Result<void> write_whole(const std::string& path, std::string_view text) {
    std::string temporary = path + ".tmp";
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    Fd fd(::open(temporary.c_str(), flags, 0600));
    // Somebody else's file, a link or a pipe stands under that name: in a directory of ours it has no
    // business there.
    if (!fd && (errno == EACCES || errno == EPERM || errno == ELOOP || errno == ENXIO) &&
        ::unlink(temporary.c_str()) == 0)
        fd = Fd(::open(temporary.c_str(), flags | O_EXCL, 0600));
    if (!fd)
        return fail_sys(core::cat("write ", temporary));
    while (!text.empty()) {
        ssize_t n = ::write(fd.get(), text.data(), text.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            auto error = fail_sys(core::cat("write ", temporary), n < 0 ? errno : ENOSPC);
            ::unlink(temporary.c_str());
            return error;
        }
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    // Exchanged, and the old one removed: a rename over a file makes ext4 write the new one to the disk
    // first, which is ten times slower and kept for files that must outlive the machine.
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
        ::unlink(temporary.c_str());
        return {};
    }
    // There was none, or the file system cannot exchange.
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return fail_sys(core::cat("rename ", temporary, " to ", path));
    return {};
}

} // namespace holdfast::sys
