#include "cli/watching.hpp"

#include "cli/exit_codes.hpp"
#include "cli/print.hpp"
#include "core/text.hpp"
#include "sys/file_watch.hpp"
#include "sys/signals.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

namespace holdfast::cli {

namespace {

constexpr int refresh_ms = 1000; // ages and memory move without a file changing

// A directory that may be wiped away and made again, as a runtime directory is at logout and login. While it
// is not there, the nearest one above it tells when that changes.
class ReturningDirectory {
public:
    explicit ReturningDirectory(std::string path)
        : path_(std::move(path)) {}

    // What happens from here on turns fd() readable.
    void clear() {
        if (watch_)
            watch_->clear();
        for (Place now = nearest(); !watch_ || now != watched_; now = nearest()) {
            auto made = sys::FileWatch::on_directory(now.path);
            watch_ = made ? std::optional(std::move(*made)) : std::nullopt;
            if (!watch_ && made.error().code != Errc::not_found)
                return; // no inotify instance left, or it may not be read: looked at every second
            watched_ = std::move(now);
        }
    }
    [[nodiscard]] int fd() const { return watch_ ? watch_->fd() : -1; }

private:
    struct Place {
        std::string path;
        dev_t device = 0;
        ino_t inode = 0;
        bool operator==(const Place&) const = default;
    };
    // The directory, or as much of the way to it as there is.
    [[nodiscard]] Place nearest() const {
        std::string path = path_;
        struct stat file{};
        while (::stat(path.c_str(), &file) != 0 && path != "/")
            path.resize(std::max<std::size_t>(path.rfind('/'), 1)); // absolute, so there is one
        return {.path = path, .device = file.st_dev, .inode = file.st_ino};
    }

    std::string path_;
    std::optional<sys::FileWatch> watch_;
    Place watched_;
};

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
            if (!print(terminal ? core::cat("\033[H\033[J", text) : text))
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
