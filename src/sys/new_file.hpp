// A file that appears under its name when it is complete, or never.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <string>

namespace holdfast::sys {

// Until it appears it has no name, so whoever writes it may be killed at any moment and leaves nothing; only
// on file systems that cannot do that (NFS, FAT) it has one of its own beside the other, removed by the
// destructor.
class NewFile {
public:
    // Errors: invalid_argument (something of that name is there, be it a link that leads nowhere),
    // cannot_create (no such directory), not_permitted, no_space.
    static Result<NewFile> open(const std::string& path);
    NewFile(NewFile&&) noexcept = default;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();

    [[nodiscard]] int fd() const noexcept { return file_.get(); }
    // On the disk, and then under its name. One that somebody else has made meanwhile is left as it is
    // (invalid_argument).
    Result<void> appear();

private:
    NewFile() = default;
    std::string path_;
    std::string directory_;
    std::string temporary_; // empty: it has no name
    Fd file_;
};

} // namespace holdfast::sys
