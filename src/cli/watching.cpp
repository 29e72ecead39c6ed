#include "cli/watching.hpp"

#include "cli/exit_codes.hpp"
#include "cli/print.hpp"
#include "core/text.hpp"
#include "sys/file_watch.hpp"
#include "sys/signals.hpp"

#include <poll.h>

#include <array>
#include <csignal>

namespace holdfast::cli {

namespace {
constexpr int refresh_ms = 1000; // ages and memory move without a file changing
}

int watch(const std::string& directory, bool always, const std::function<std::string()>& frame) {
    auto signals = sys::SignalQueue::of({SIGINT, SIGTERM, SIGHUP});
    auto changes = sys::FileWatch::on_directory(directory);
    if (!signals)
        return fail_with(signals.error());
    sys::ignore_signal(SIGPIPE);
    std::string last;
    for (;;) {
        if (changes)
            changes->clear();
        std::string text = frame();
        bool terminal = stdout_is_terminal();
        if (terminal || text != last) {
            if (!print(terminal ? core::cat("\033[H\033[J", text) : text))
                return exit_ok;
            last = std::move(text);
        }
        std::array<pollfd, 2> fds{{{.fd = signals->fd(), .events = POLLIN, .revents = 0},
                                   {.fd = changes ? changes->fd() : -1, .events = POLLIN, .revents = 0}}};
        ::poll(fds.data(), fds.size(), always || !changes ? refresh_ms : -1);
        if (fds[0].revents)
            return exit_ok;
    }
}

} // namespace holdfast::cli
