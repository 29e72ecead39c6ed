#include "slot/leftovers.hpp"

#include "records/paths.hpp"
#include "sys/directories.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

namespace holdfast::slot {

namespace {
constexpr Millis look_for_unseen{50};
} // namespace

Leftovers::Leftovers(const SlotLocation& location, const Door&, ending::Plan plan,
                     std::function<pid_t()> own_waiter)
    : holders_(records::lock_path(location),
               [location, waiter = std::move(own_waiter)](pid_t pid) {
                   return (waiter && pid == waiter()) || !is_of_the_slots_user(location, pid);
               })
    , ender_(std::move(plan)) {
    ender_.find_by(holders_);
}

ending::Plan leftovers_plan(Millis grace, Millis patience, Millis unseen) {
    return {.stages = ending::ask_then_kill(grace),
            .patience = patience,
            .search = unseen,
            .search_pause = look_for_unseen,
            .trees = false,
            .share_grace = true,
            .tell_keepers = true};
}

bool is_of_the_slots_user(const SlotLocation& location, pid_t pid) {
    const auto user = sys::owner_of_directory(location.directory);
    return ::geteuid() != 0 || !user || *user == 0 || sys::user_of(pid) == user;
}

} // namespace holdfast::slot
