// The end of the input, a terminal of the helper's own, and its last words.
#include "keep/front_parts.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace holdfast::keep {

using core::StopReason;

namespace {
constexpr std::int64_t last_words_ms = 250;
} // namespace

// The host closed stdin. What is still unread is the helper's to read first, as long as it does read.
void Front::hear_input() {
    std::int64_t now = sys::boottime_ms();
    int unread = 0;
    if (::ioctl(STDIN_FILENO, FIONREAD, &unread) != 0)
        unread = 0;
    if (!input_closed_since_ || unread != unread_)
        input_closed_since_ = now;
    unread_ = unread;
    std::int64_t patience = options_.keep.plan.stages.front().wait.count();
    if (unread == 0 || now - *input_closed_since_ >= patience) {
        watch_input_ = false;
        tell_stop(StopReason::input_closed);
    }
}

// As above, for a helper that gets its input through a terminal; and whether anybody still reads what it
// says.
void Front::hear_terminal() {
    if (pty_->input_ended() && watch_input_) {
        const std::int64_t patience = options_.keep.plan.stages.front().wait.count();
        if (pty_->input_delivered() || sys::boottime_ms() - pty_->input_moved_at() >= patience) {
            watch_input_ = false;
            tell_stop(StopReason::input_closed);
        }
    }
    if (pty_->reader_gone() && !output_gone_told_) {
        output_gone_told_ = true;
        tell_stop(StopReason::output_closed);
    }
}

// The tree is gone, and its last words are for whoever reads them. A command that ended by itself has the
// time its reader takes, as long as there is a host; one that was ended, only as long as something moves.
void Front::finish_output() {
    bool hurried = stop_told_ || (result_.reason && *result_.reason != StopReason::command_ended);
    const std::int64_t began = sys::boottime_ms();
    while (pty_->output_waits() && !pty_->reader_gone()) {
        const std::int64_t moved = std::max(began, pty_->output_moved_at());
        const sys::Deadline end = hurried ? sys::Deadline::at(moved + last_words_ms) : sys::Deadline::never();
        if (end.passed())
            return;
        Pty::Polled relayed = pty_->wishes();
        relayed[0].fd = -1; // nobody is left to read it
        std::array<pollfd, 5> fds{
            {relayed[0],
             relayed[1],
             relayed[2],
             {.fd = signals_.fd(), .events = POLLIN, .revents = 0},
             {.fd = host_ && !hurried ? host_->fd() : -1, .events = POLLIN, .revents = 0}}};
        ::poll(fds.data(), fds.size(), end.poll_timeout());
        pty_->relay({fds[0], fds[1], fds[2]});
        while (auto arrived = signals_.next())
            hurried |= sys::says_stop_now(*arrived) || arrived->signal == SIGTERM ||
                       arrived->signal == SIGINT || arrived->signal == SIGHUP || arrived->signal == SIGQUIT;
        hurried |= fds[4].revents != 0;
    }
}

} // namespace holdfast::keep
