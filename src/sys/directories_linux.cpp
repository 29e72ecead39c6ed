#include "sys/directories.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

namespace holdfast::sys {

namespace {

// Whether it is there; `made_now`: it was not. A umask may have taken from us what the mode gives.
bool make_one(const std::string& path, bool& made_now) {
    made_now = ::mkdir(path.c_str(), 0700) == 0;
    if (!made_now)
        return errno == EEXIST;
    struct stat made{};
    if (::lstat(path.c_str(), &made) == 0 && (made.st_mode & S_IRWXU) != S_IRWXU)
        (void)::chmod(path.c_str(), 0700);
    return true;
}

// In the way is perhaps a directory of our own that we may not enter: then its name, and what to do.
std::unexpected<Error> cannot_make(const std::string& path) {
    auto failed = fail_making(base::cat("create the directory ", path));
    if (failed.error().sys != EACCES)
        return failed;
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        struct stat file{};
        if (::stat(part.c_str(), &file) != 0)
            return failed;
        if (file.st_uid == ::geteuid() && S_ISDIR(file.st_mode) && (file.st_mode & S_IRWXU) != S_IRWXU) {
            failed.error().message += base::cat("; run: chmod u+rwx ", part);
            return failed;
        }
        if (end == std::string::npos)
            return failed;
    }
}

// In /tmp and its like everybody may make a directory under the name that is ours by convention. Whoever has
// made it can rename what we make in it, and a second owner would find the place free.
Result<void> check_parent(const std::string& path) {
    const std::string parent = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
    const std::string above = parent.substr(0, std::max<std::size_t>(parent.rfind('/'), 1));
    struct stat one{}, public_one{};
    if (::stat(parent.c_str(), &one) != 0 || one.st_uid == ::geteuid() || one.st_uid == 0 ||
        ::stat(above.c_str(), &public_one) != 0 || (public_one.st_mode & S_ISVTX) == 0)
        return {};
    (void)::rmdir(path.c_str());
    return fail(
        Errc::unsafe_directory,
        base::cat("user ", one.st_uid, " has made the directory ", parent,
                  ", so a lock there proves nothing; remove it, or set XDG_RUNTIME_DIR to a directory of "
                  "your own"),
        EPERM);
}

} // namespace

Result<void> make_directories(const std::string& path, bool for_another) {
    if (path.empty() || path.front() != '/')
        return fail(Errc::invalid_argument, base::cat("\"", path, "\" is not an absolute path"));
    bool made_now = false;
    if (make_one(path, made_now))
        return made_now && !for_another ? check_parent(path) : Result<void>{};
    if (errno != ENOENT)
        return cannot_make(path);
    if (auto parent = make_directories(path.substr(0, path.rfind('/')), for_another); !parent)
        return parent;
    if (make_one(path, made_now))
        return {};
    return cannot_make(path);
}

Result<void> check_private_directory(const std::string& path, bool root_may) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return fail_sys(base::cat("look at the directory ", path));
    if (!S_ISDIR(file.st_mode))
        return fail(Errc::unsafe_directory,
                    base::cat(path, " is not a directory; move it away and try again"));
    if (file.st_uid != ::geteuid() && !(root_may && ::geteuid() == 0))
        return fail(Errc::unsafe_directory,
                    base::cat("the directory ", path, " belongs to user ", file.st_uid,
                              ", not to you; set HOLDFAST_HOME to a directory of your own"));
    if (file.st_mode & (S_IWGRP | S_IWOTH))
        return fail(Errc::unsafe_directory,
                    base::cat("others can write to the directory ", path,
                              ", so a lock there proves nothing; run: chmod go-w ", path));
    if ((file.st_mode & S_IRWXU) != S_IRWXU && ::geteuid() != 0)
        return fail(Errc::unsafe_directory,
                    base::cat("you may not use your own directory ", path, "; run: chmod u+rwx ", path));
    return {};
}

std::optional<uid_t> owner_of_directory(const std::string& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return std::nullopt;
    return file.st_uid;
}

std::optional<std::string> shared_file_system(const std::string& path) {
    struct statfs fs{};
    if (::statfs(path.c_str(), &fs) != 0)
        return std::nullopt;
    switch (static_cast<unsigned>(fs.f_type)) {
    case 0x6969:
        return "NFS";
    case 0xFF534D42:
        return "CIFS";
    case 0xFE534D42:
        return "SMB";
    case 0x517B:
        return "SMB";
    case 0x01021997:
        return "9P";
    case 0x00C36400:
        return "Ceph";
    case 0x5346414F:
        return "AFS";
    default:
        return std::nullopt;
    }
}

} // namespace holdfast::sys
