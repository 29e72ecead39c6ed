// A holder that is not ours and only left a PID file. It is believed only as far as the kernel bears it out.
#pragma once

#include "holdfast/slot.hpp"
#include "sys/pidfd.hpp"

#include <optional>
#include <string>

namespace holdfast::slot {

struct ForeignHolder {
    sys::PidFd process;
    std::string command;
    bool proven = false; // by start time, or by `match` on its command line
};

// Nobody when the file is missing, empty, torn, binary, or names a process that is dead, recycled, or this
// one itself. `match`: an extended regular expression on the command line; empty for none. Error: a bad
// expression.
Result<std::optional<ForeignHolder>> find_foreign_holder(const std::string& pid_file,
                                                         const std::string& match);

// TERM and CONT, grace, KILL, all through the pidfd that was checked. Errors: not_permitted, survivors.
Result<void> end_foreign_holder(const ForeignHolder& holder, Millis grace);

// A PID file of our own, for tools that expect one. Removed on destruction, if it still is ours.
class PidFile {
public:
    static Result<PidFile> write(const std::string& path, const std::string& text);
    PidFile(PidFile&& other) noexcept
        : path_(std::exchange(other.path_, {}))
        , text_(std::move(other.text_)) {}
    PidFile& operator=(PidFile&&) = delete;
    PidFile(const PidFile&) = delete;
    PidFile& operator=(const PidFile&) = delete;
    ~PidFile();

private:
    PidFile(std::string path, std::string text)
        : path_(std::move(path))
        , text_(std::move(text)) {}
    std::string path_;
    std::string text_;
};

} // namespace holdfast::slot
