#include "ending/by_children.hpp"

#include "sys/proc.hpp"

namespace holdfast::ending {

std::vector<sys::PidFd> hold_children(const sys::PidFd& parent, const std::function<bool(pid_t)>& known) {
    std::vector<sys::PidFd> out;
    if (parent.ended())
        return out;
    for (const pid_t child : sys::children_of(parent.pid())) {
        if (known && known(child))
            continue;
        auto process = sys::PidFd::open(child);
        auto stat = sys::read_stat(child);
        // Pidfd first, then the check: its parent has this PID, and the PID still belongs to the parent.
        if (process && stat && stat->ppid == parent.pid() && !parent.ended() && !process->ended())
            out.push_back(std::move(*process));
    }
    return out;
}

std::vector<sys::PidFd> hold_tree(sys::PidFd root) {
    std::vector<sys::PidFd> out;
    out.push_back(std::move(root));
    for (std::size_t at = 0; at < out.size(); ++at)
        for (sys::PidFd& child : hold_children(out[at]))
            out.push_back(std::move(child));
    return out;
}

} // namespace holdfast::ending
