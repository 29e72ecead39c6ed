#include "harness/notify_file.hpp"

#include "base/text.hpp"
#include "harness/temp_dir.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"

#include <filesystem>
#include <poll.h>
#include <sstream>
#include <sys/inotify.h>

namespace holdfast::harness {

Result<std::string> wait_for_file(const std::string& path, const Deadline& deadline) {
    const sys::Fd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!watch)
        return sys::fail_sys("inotify_init1");
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (::inotify_add_watch(watch.get(), folder.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
        return sys::fail_sys(base::cat("inotify_add_watch ", folder));
    for (;;) { // looked at after the watch stands, so no event can be missed in between
        if (auto content = read_file(path); content && !content->empty())
            return content;
        pollfd poller{watch.get(), POLLIN, 0};
        const int ready = ::poll(&poller, 1, deadline.remaining_ms());
        if (ready < 0 && errno != EINTR)
            return sys::fail_sys("poll on inotify");
        if (ready <= 0 && deadline.passed())
            return fail(Errc::timed_out, base::cat(path, " did not appear in time"));
        alignas(inotify_event) char events[4096];
        while (::read(watch.get(), events, sizeof events) > 0) {
        }
    }
}

Result<std::vector<pid_t>> parse_ready(const std::string& line) {
    std::istringstream words(line);
    std::string first;
    std::vector<pid_t> pids;
    words >> first;
    for (pid_t pid = 0; words >> pid;)
        pids.push_back(pid);
    if (first != "ready" || pids.empty())
        return fail(Errc::protocol, base::cat("expected \"ready <pid> ...\", got \"", line, "\""));
    return pids;
}

} // namespace holdfast::harness
