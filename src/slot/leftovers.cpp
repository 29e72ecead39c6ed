#include "slot/leftovers.hpp"

#include "records/paths.hpp"
#include "sys/directories.hpp"
#include "sys/lock_holders.hpp"
#include "sys/proc.hpp"
#include "sys/signals.hpp"

#include <unistd.h>

#include <csignal>

namespace holdfast::slot {

std::vector<sys::PidFd> hold_leftovers(const SlotLocation& location, const Door&, pid_t own_waiter) {
    std::vector<sys::PidFd> out;
    std::string path = records::lock_path(location);
    for (pid_t pid : sys::find_life_holders(path)) {
        if (pid == own_waiter)
            continue;
        auto process = sys::PidFd::open(pid);
        if (process && sys::holds_life(pid, path) && is_of_the_slots_user(location, pid))
            out.push_back(std::move(*process));
    }
    return out;
}

bool is_of_the_slots_user(const SlotLocation& location, pid_t pid) {
    const auto user = sys::owner_of_directory(location.directory);
    return ::geteuid() != 0 || !user || *user == 0 || sys::user_of(pid) == user;
}

// A failure shows as life that does not come free, and is reported with names then.
void ask_all(const std::vector<sys::PidFd>& processes) {
    for (const sys::PidFd& process : processes) {
        (void)process.signal(SIGTERM);
        (void)process.signal(SIGCONT); // a stopped process cannot end by itself
    }
}

void kill_all(const std::vector<sys::PidFd>& processes) {
    for (const sys::PidFd& process : processes) {
        auto stat = sys::read_stat(process.pid());
        const bool keeper = stat && stat->comm == sys::keeper_name;
        (void)process.signal(keeper ? sys::stop_now_signal() : SIGKILL);
        if (keeper)
            (void)process.signal(SIGCONT);
    }
}

} // namespace holdfast::slot
