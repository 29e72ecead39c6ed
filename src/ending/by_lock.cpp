#include "ending/by_lock.hpp"

#include "sys/lock_holders.hpp"

namespace holdfast::ending {

void LifeHolders::find(const Meet& meet) {
    for (const pid_t pid : sys::find_life_holders(path_)) {
        auto process = sys::PidFd::open(pid);
        if (process && sys::holds_life(pid, path_) && !left_alone_(pid))
            meet({.process = std::move(*process)});
    }
}

} // namespace holdfast::ending
