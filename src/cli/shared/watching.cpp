#include "cli/shared/watching.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/returning_directory.hpp"
#include "sys/signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace holdfast::cli {

namespace {

constexpr int refresh_ms = 1000; // ages and memory move without a file changing

} // namespace

int watch(const std::string& directory, bool always, const std::function<std::string()>& frame) {
    auto signals = sys::SignalQueue::of({SIGINT, SIGTERM, SIGHUP});
    if (!signals)
        return fail_with(signals.error());
    sys::ignore_signal(SIGPIPE);
    ReturningDirectory changes(directory);
    std::string last;
    for (;;) {
        changes.clear();
        std::string text = frame();
        bool terminal = stdout_is_terminal();
        if (terminal || text != last) {
            const auto shown = base::printable_lines(text);
            if (!print_bytes(terminal ? base::cat("\033[H\033[J", shown) : shown))
                return exit_ok;
            last = std::move(text);
        }
        std::array<pollfd, 3> fds{{{.fd = signals->fd(), .events = POLLIN, .revents = 0},
                                   {.fd = STDOUT_FILENO, .events = 0, .revents = 0},
                                   {.fd = changes.fd(), .events = POLLIN, .revents = 0}}};
        ::poll(fds.data(), fds.size(), always || changes.fd() < 0 ? refresh_ms : -1);
        // Interrupted, or nobody reads us any more.
        if (fds[0].revents != 0 || fds[1].revents != 0)
            return exit_ok;
    }
}

} // namespace holdfast::cli
