#include "doctor/victims.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "sys/proc.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace holdfast::doctor {

namespace {

std::string link_of(pid_t pid, int fd) {
    std::string out(64, '\0');
    ssize_t n = ::readlink(base::cat("/proc/", pid, "/fd/", fd).c_str(), out.data(), out.size());
    out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return out;
}

bool is_known(const std::vector<Victim>& victims, pid_t pid) {
    return std::ranges::any_of(victims,
                               [&](const Victim& v) { return v.process.pid() == pid && !v.process.ended(); });
}

bool is_ours(pid_t pid) {
    struct stat directory{};
    return ::stat(base::cat("/proc/", pid).c_str(), &directory) == 0 && directory.st_uid == ::geteuid();
}

} // namespace

std::uint64_t resident_bytes(pid_t pid) {
    auto stat = sys::read_stat(pid);
    return stat ? stat->rss_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::uint64_t ticks_now() {
    return static_cast<std::uint64_t>(sys::boottime_ms()) *
           static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)) / 1000;
}

std::vector<std::string> stdio_names(pid_t pid) {
    std::vector<std::string> out;
    for (int fd : {0, 1})
        if (std::string name = link_of(pid, fd); name.starts_with("pipe:[") || name.starts_with("socket:["))
            out.push_back(std::move(name));
    return out;
}

std::size_t add_heirs(std::vector<Victim>& victims, const std::vector<std::string>& channels,
                      std::uint64_t since_ticks) {
    std::size_t before = victims.size();
    for (pid_t pid : sys::all_pids()) {
        if (pid == ::getpid() || !is_ours(pid) || is_known(victims, pid))
            continue;
        auto held = sys::PidFd::open(pid);
        auto stat = sys::read_stat(pid);
        if (!held || !stat || stat->start_ticks < since_ticks || stat->state == 'Z')
            continue;
        auto names = stdio_names(pid);
        auto shared = std::ranges::find_first_of(names, channels);
        if (shared == names.end() || held->ended())
            continue;
        victims.push_back(
            {std::move(*held), pid, base::printable(sys::command_line_for_people(pid)), resident_bytes(pid)});
    }
    return victims.size() - before;
}

std::size_t add_descendants(std::vector<Victim>& victims) {
    std::size_t before = victims.size();
    for (std::size_t at = 0; at < victims.size(); ++at) { // grows while we walk: children of children
        pid_t parent = victims[at].process.pid();
        pid_t root = victims[at].root;
        for (pid_t child : sys::children_of(parent)) {
            if (is_known(victims, child))
                continue;
            auto held = sys::PidFd::open(child);
            auto stat = sys::read_stat(child);
            if (!held || !stat || stat->ppid != parent || stat->state == 'Z' || held->ended() ||
                victims[at].process.ended())
                continue;
            victims.push_back({std::move(*held), root, base::printable(sys::command_line_for_people(child)),
                               resident_bytes(child)});
        }
    }
    return victims.size() - before;
}

void signal_all(std::vector<Victim>& victims, int signal) {
    for (Victim& victim : victims)
        if (!victim.process.ended() && !victim.process.signal(signal))
            victim.refused = true;
}

bool all_ended(const std::vector<Victim>& victims, const sys::Deadline& deadline) {
    return std::ranges::all_of(victims, [&](const Victim& v) { return v.process.wait_ended(deadline); });
}

} // namespace holdfast::doctor
