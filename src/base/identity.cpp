#include "base/identity.hpp"

namespace holdfast::base {

bool same_process(const Identity& a, const Identity& b) noexcept {
    if (a.boot_id != b.boot_id || a.pid_ns != b.pid_ns || a.pid != b.pid || a.start_ticks != b.start_ticks)
        return false;
    if (a.pidfd_inode != 0 && b.pidfd_inode != 0)
        return a.pidfd_inode == b.pidfd_inode;
    return true;
}

} // namespace holdfast::base
