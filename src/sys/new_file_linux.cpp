#include "sys/new_file.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/own_rights.hpp"
#include "sys/proc.hpp"
#include "sys/random.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace holdfast::sys {

using base::cat;

namespace {

std::unexpected<Error> exists_already(const std::string& path) {
    return fail(Errc::invalid_argument, cat(path, " exists already; choose another name, or remove it"));
}

bool knows_no_nameless_files(int error) {
    return error == EOPNOTSUPP || error == EISDIR || error == EINVAL || error == ENOSYS;
}

// Gives it the name only where nobody has it. Where a file system has neither links nor this, it is looked
// first.
int move_to_free_name(const std::string& from, const std::string& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    struct stat there{};
    if (::lstat(to.c_str(), &there) == 0)
        return EEXIST;
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

} // namespace

Result<NewFile> NewFile::open(const std::string& path) {
    const auto slash = path.rfind('/');
    if (path.empty() || slash + 1 == path.size())
        return fail(Errc::invalid_argument, cat("\"", path, "\" is no name of a file"));
    struct stat there{};
    if (::lstat(path.c_str(), &there) == 0)
        return exists_already(path);
    NewFile file;
    file.path_ = path;
    file.directory_ = slash == path.npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
    file.file_ = own_fd(::open(file.directory_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (!file.file_ && knows_no_nameless_files(errno)) {
        file.temporary_ = cat(path, '.', random_token());
        file.file_ = own_fd(::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    }
    if (!file.file_) {
        file.temporary_.clear();
        return fail_making(cat("create ", path));
    }
    own_rights(file.file_.get());
    return file;
}

NewFile::~NewFile() {
    if (!temporary_.empty() && file_)
        ::unlink(temporary_.c_str());
}

Result<void> NewFile::appear() {
    if (::fsync(file_.get()) != 0)
        return fail_making(cat("write ", path_));
    int error = 0;
    if (!temporary_.empty())
        error = move_to_free_name(temporary_, path_);
    else if (::linkat(AT_FDCWD, cat("/proc/self/fd/", file_.get()).c_str(), AT_FDCWD, path_.c_str(),
                      AT_SYMLINK_FOLLOW) != 0)
        error = errno;
    if (error == EEXIST)
        return exists_already(path_);
    if (error != 0)
        return fail_making(cat("create ", path_), error);
    temporary_.clear();
    // The name, too, is there after a power cut. A directory that cannot be synced costs only that.
    if (const Fd directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); directory)
        (void)::fsync(directory.get());
    return {};
}

} // namespace holdfast::sys
