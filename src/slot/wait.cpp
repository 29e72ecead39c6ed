// Waiting as a reader: nothing is locked, written or removed. Events tell when to look again.
#include "base/text.hpp"
#include "holdfast/slot.hpp"
#include "records/paths.hpp"
#include "slot/sight.hpp"
#include "sys/clock.hpp"
#include "sys/errors.hpp"
#include "sys/file_watch.hpp"
#include "sys/pidfd.hpp"

#include <poll.h>

#include <optional>
#include <vector>

namespace holdfast {

namespace {

// A lock that is released inside a living process makes its event an instant before it is free, so a look can
// come too early. No event follows; this is how long such a look may stay wrong.
constexpr Millis second_look{200};

bool reached(const SlotInfo& info, WaitFor what) {
    if (what == WaitFor::free)
        return info.state == SlotState::free;
    return info.state == SlotState::owned && info.record_is_current && info.phase == Phase::ready;
}

} // namespace

Result<SlotInfo> wait_for(const SlotLocation& location, WaitFor what, std::optional<Millis> at_most,
                          int cancel_fd) {
    sys::Deadline deadline = at_most ? sys::Deadline::in(*at_most) : sys::Deadline::never();
    // Often there is nothing to wait for, and a watch costs the kernel milliseconds to take down.
    if (auto now = query(location); !now || reached(*now, what))
        return now;
    auto watch = sys::FileWatch::on_directory(location.directory);
    for (;;) {
        // What happens from here on wakes the poll below, so nothing falls between the look and the wait.
        if (watch)
            watch->clear();
        auto info = query(location);
        if (!info || reached(*info, what))
            return info;
        if (deadline.passed())
            return fail(Errc::timed_out,
                        base::cat("the slot \"", location.name, "\" is not ",
                                  what == WaitFor::free ? "free" : "ready", " yet: ", name_of(info->state),
                                  info->state == SlotState::owned ? ", " + slot::owner_for_people(*info)
                                                                  : std::string()));

        std::vector<sys::PidFd> processes;
        if (info->owner_pid > 0)
            if (auto owner = sys::PidFd::open(info->owner_pid))
                processes.push_back(std::move(*owner));
        for (const Leftover& leftover : info->leftovers)
            if (auto process = sys::PidFd::open(leftover.pid))
                processes.push_back(std::move(*process));

        std::vector<pollfd> fds;
        if (cancel_fd >= 0)
            fds.push_back({.fd = cancel_fd, .events = POLLIN, .revents = 0});
        if (watch)
            fds.push_back({.fd = watch->fd(), .events = POLLIN, .revents = 0});
        for (const sys::PidFd& process : processes)
            fds.push_back({.fd = process.fd(), .events = POLLIN, .revents = 0});
        int n =
            ::poll(fds.data(), fds.size(), deadline.earlier(sys::Deadline::in(second_look)).poll_timeout());
        if (n < 0 && errno != EINTR)
            return sys::fail_sys("poll");
        if (n > 0 && cancel_fd >= 0 && fds.front().revents != 0)
            return fail(Errc::cancelled, base::cat("gave up waiting for the slot \"", location.name, "\""));
    }
}

} // namespace holdfast
