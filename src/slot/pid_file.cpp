#include "slot/pid_file.hpp"

#include "base/text.hpp"
#include "records/pid_file.hpp"
#include "slot/pid_file_reading.hpp"
#include "sys/pidfd.hpp"
#include "sys/proc.hpp"
#include "sys/whole_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::slot {

std::optional<PidFileNamed> named_by_pid_file(const std::string& path) {
    struct stat file{};
    auto entry = read_pid_file(path);
    if (!entry || entry->pid == ::getpid() || ::stat(path.c_str(), &file) != 0)
        return std::nullopt;
    auto process = sys::PidFd::open(entry->pid);
    if (!process || process->ended())
        return std::nullopt;
    auto stat = sys::read_stat(entry->pid);
    if (!stat ||
        !records::may_have_written(*entry, stat->start_ticks, sys::start_unix_seconds(stat->start_ticks),
                                   static_cast<double>(file.st_mtim.tv_sec)))
        return std::nullopt;
    return PidFileNamed{
        .pid = entry->pid,
        .who = base::cat("process ", entry->pid, " (", sys::command_line_for_people(entry->pid), ")")};
}

Result<PidFile> PidFile::write(PidFileText what) {
    if (auto written = sys::put_whole(what.path, what.text); !written)
        return std::unexpected(written.error());
    return PidFile(std::move(what));
}

PidFile::~PidFile() {
    if (!what_.path.empty() && read_pid_file_text(what_.path) == what_.text)
        ::unlink(what_.path.c_str());
}

void remove_pid_file_of(const std::string& path, pid_t pid) {
    if (auto entry = read_pid_file(path); entry && entry->pid == pid)
        ::unlink(path.c_str());
}

} // namespace holdfast::slot
