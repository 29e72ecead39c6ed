// The last wait before ownership: for those that hold a read lock on life. No writer does, or nobody could be
// taking the slot; a lock waiter holds one for the instant between its grant and letting go.
#include "base/text.hpp"
#include "records/paths.hpp"
#include "slot/contender.hpp"
#include "sys/errors.hpp"
#include "sys/lock_holders.hpp"
#include "sys/proc.hpp"

#include <poll.h>

#include <array>
#include <cerrno>

namespace holdfast::slot {

using sys::LockByte;

namespace {

constexpr Millis an_instant{100};
constexpr Millis readers_patience{5000};

} // namespace

bool Contender::outwait_readers() {
    auto waiter = lock_->wait_for(LockByte::life, false);
    if (!waiter) {
        (void)fail_with(std::move(waiter.error()));
        return false;
    }
    const sys::Deadline end = sys::Deadline::in(readers_patience);
    for (;;) {
        std::array<pollfd, 2> fds{{{.fd = waiter->fd(), .events = POLLIN, .revents = 0},
                                   {.fd = options_.cancel_fd, .events = POLLIN, .revents = 0}}};
        const int n =
            ::poll(fds.data(), fds.size(), end.earlier(sys::Deadline::in(an_instant)).poll_timeout());
        if (n < 0 && errno != EINTR) {
            (void)fail_with(sys::fail_sys("poll").error());
            return false;
        }
        if (n > 0 && fds[0].revents != 0) {
            if (auto accepted = waiter->accept(); !accepted) {
                (void)fail_with(std::move(accepted.error()));
                return false;
            }
            lock_->note_taken(LockByte::life);
            return true;
        }
        if (n > 0 && fds[1].revents != 0 && cancel_is_meant())
            return false;
        // A signal that stops a whole process group may reach a waiter in that instant.
        const std::vector<sys::PidFd> readers = sys::hold_life_readers(records::lock_path(location_));
        for (const sys::PidFd& reader : readers)
            sys::continue_stopped(reader);
        if (!end.passed())
            continue;
        std::string who = "a process that cannot be seen from here";
        if (!readers.empty())
            who = base::cat("process ", readers.front().pid(), " (",
                            sys::command_line_for_people(readers.front().pid()), ")");
        (void)fail_with({.code = Errc::timed_out,
                         .message = base::cat("the slot \"", location_.name, "\" cannot be taken: ", who,
                                              " holds a read lock on ", records::lock_path(location_),
                                              " and does not let go of it")});
        return false;
    }
}

} // namespace holdfast::slot
