// A PID file of our own, for tools that expect one. It stands in a directory of others, among their files.
#pragma once

#include "holdfast/result.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

namespace holdfast::slot {

struct PidFileText {
    std::string path;
    std::string text;
};

// Somebody else, for people, whom the file names, who lives, and who may have written it. Nobody: the file is
// missing, says nothing, or names a process that is dead, that is younger than the file, or this one.
struct PidFileNamed {
    pid_t pid = 0;
    std::string who;
};
std::optional<PidFileNamed> named_by_pid_file(const std::string& path);

class PidFile {
public:
    // Errors: cannot_create (no such directory, or no plain file there), not_permitted, no_space, io.
    static Result<PidFile> write(PidFileText what);
    PidFile(PidFile&& other) noexcept
        : what_(std::exchange(other.what_, {})) {}
    PidFile& operator=(PidFile&&) = delete;
    PidFile(const PidFile&) = delete;
    PidFile& operator=(const PidFile&) = delete;
    ~PidFile(); // removes it, if it still says what we wrote

private:
    explicit PidFile(PidFileText what)
        : what_(std::move(what)) {}
    PidFileText what_;
};

// Removes a PID file that names `pid`: for who outlives its writer.
void remove_pid_file_of(const std::string& path, pid_t pid);

} // namespace holdfast::slot
