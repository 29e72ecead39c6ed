#include "base/date_text.hpp"
#include "base/printable.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/helpers/helpers.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/returning_directory.hpp"
#include "cli/shared/settings.hpp"
#include "registry/events.hpp"
#include "registry/helper_logs.hpp"
#include "registry/listing.hpp"
#include "sys/errors.hpp"
#include "sys/pidfd.hpp"
#include "sys/proc.hpp"
#include "sys/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>

namespace holdfast::cli {

namespace {

constexpr Option for_logs[] = {
    {.name = "follow", .value = "", .help = "go on as it grows, until the helper ends", .letter = 'f'},
    {.name = "raw",
     .value = "",
     .help = "on a terminal too, print the bytes as they are; they may steer the terminal"},
};
constexpr Option for_events[] = {
    {.name = "follow", .value = "", .help = "go on as they happen", .letter = 'f'},
    {.name = "json", .value = "", .help = "as JSON lines"},
};

std::string event_text(const registry::Event& event) {
    std::string out = base::cat(
        base::date_text(event.unix_ms, base::Zone::local, base::DatePrecision::milliseconds), "  ",
        base::printable(event.type), std::string(event.type.size() < 10 ? 10 - event.type.size() : 1, ' '));
    if (!event.id.empty())
        out += base::printable(event.id) + "  ";
    out += base::printable(event.label);
    if (event.pid)
        out += base::cat("  pid ", event.pid);
    if (event.status)
        out += base::cat("  status ", *event.status);
    if (!event.reason.empty())
        out += base::cat("  (", base::printable(event.reason), ')');
    return out + "\n";
}

constexpr std::size_t piece_bytes = std::size_t{64} << 10; // between two looks whether a signal has come
constexpr int look_again_ms = 1000;                        // only where nothing can be watched
const std::vector<int> ending_signals{SIGINT, SIGTERM, SIGHUP};

bool is_readable(int fd) {
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, 0) == 1;
}

// Prints what is appended to a file from now on, whole pieces as `show` makes them fit to be printed, over
// rotation. With a `writer`: until it has ended, and nothing more can come.
// `signals`: those that end it. The caller makes the queue before it prints anything: a signal that comes
// between the first line and this call must not end the program with a colour still switched on.
int follow(const std::string& path, std::uint64_t from, const std::function<std::string(std::string&)>& show,
           const sys::PidFd* writer, const sys::SignalQueue& signals) {
    sys::ignore_signal(SIGPIPE);
    ReturningDirectory changes(path.substr(0, path.rfind('/')));
    sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (struct stat now{};
        file && ::fstat(file.get(), &now) == 0 && static_cast<std::uint64_t>(now.st_size) < from)
        from = 0; // the page was turned in between
    std::string pending;
    for (;;) {
        const bool last = writer && writer->ended(); // asked before the last look, not after
        changes.clear();
        std::array<char, 65536> buffer;
        for (;;) {
            ssize_t n =
                file ? ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(from)) : 0;
            if (n <= 0) {
                struct stat mine{}, there{};
                bool turned = ::stat(path.c_str(), &there) == 0 &&
                              (!file || (::fstat(file.get(), &mine) == 0 && mine.st_ino != there.st_ino));
                if (!turned)
                    break;
                file = sys::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
                from = 0;
                continue;
            }
            from += static_cast<std::uint64_t>(n);
            pending.append(buffer.data(), static_cast<std::size_t>(n));
            if (!print_bytes(show(pending)))
                return exit_ok;
        }
        if (last)
            return exit_ok;
        std::array<pollfd, 4> fds{{{.fd = signals.fd(), .events = POLLIN, .revents = 0},
                                   {.fd = changes.fd(), .events = POLLIN, .revents = 0},
                                   {.fd = writer ? writer->fd() : -1, .events = POLLIN, .revents = 0},
                                   {.fd = STDOUT_FILENO, .events = 0, .revents = 0}}};
        ::poll(fds.data(), fds.size(), changes.fd() < 0 ? look_again_ms : -1);
        // Interrupted, or nobody reads us any more.
        if (fds[0].revents || fds[3].revents)
            return exit_ok;
    }
}

constexpr std::size_t most_shown = std::size_t{64} << 20;

struct Log {
    std::string path;
    std::optional<sys::PidFd> writer; // of one that runs: its keeper
};

// The log of a helper that runs, or ran, under this id or name.
Result<Log> find_log(const Arguments& arguments) {
    auto places = places_of(arguments);
    if (!places)
        return std::unexpected(places.error());
    const std::string& word = arguments.words[0];
    auto helpers = registry::list_helpers(places->helpers, {.measure = false, .with_history = false});
    if (!helpers)
        return std::unexpected(helpers.error());
    bool runs_without = false;
    auto meant = registry::matching(*helpers, word);
    for (auto at = meant.rbegin(); at != meant.rend(); ++at) { // the newest first
        const registry::Helper& helper = **at;
        if (helper.facts.log.empty()) {
            runs_without = true;
            continue;
        }
        Log out{.path = helper.facts.log, .writer = std::nullopt};
        if (auto keeper = sys::open_same(helper.facts.keeper))
            out.writer = std::move(*keeper);
        else if (auto front = sys::PidFd::open(helper.info.owner_pid))
            out.writer = std::move(*front); // which is about to say who the keeper is
        return out;
    }
    if (runs_without)
        return fail(
            Errc::not_found,
            base::cat("\"", word, "\" was not started with --log, so its stderr went to its host only"));
    const registry::EventLog log(places->events);
    if (auto ok = log.check_readable(); !ok)
        return std::unexpected(ok.error());
    auto events = log.read();
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
        if (event->id.empty() || (event->label != word && !(word.size() >= 4 && event->id.starts_with(word))))
            continue;
        std::string path = base::cat(registry::log_directory(*places), '/', event->id, ".log");
        if (::access(path.c_str(), R_OK) == 0)
            return Log{.path = path, .writer = std::nullopt};
        if (errno != ENOENT)
            return sys::fail_sys(base::cat("read the log ", path));
    }
    return fail(Errc::not_found,
                base::cat("there is no log of \"", word, "\"; logs are kept of helpers run with --log"));
}

} // namespace

std::span<const Option> logs_options() {
    return for_logs;
}
std::span<const Option> events_options() {
    return for_events;
}

int logs_command(const Arguments& arguments) {
    auto log = find_log(arguments);
    if (!log)
        return fail_with(log.error());
    if (::access(log->path.c_str(), R_OK) != 0 && errno != ENOENT)
        return fail_with(sys::fail_sys(base::cat("read the log ", log->path)).error());
    std::string text = sys::read_small_file(log->path + ".1", most_shown).value_or("");
    // What is followed begins right behind what is shown here, whatever is written meanwhile.
    const std::string newest = sys::read_small_file(log->path, most_shown).value_or("");
    // A pipe or a file gets what the helper wrote; on a terminal it could steer what the reader sees and
    // types.
    base::TerminalText terminal;
    const bool as_text = stdout_is_terminal() && !arguments.has("raw");
    const auto show = [&](std::string& pending) {
        std::string piece = std::exchange(pending, {});
        return as_text ? terminal.show(piece) : piece;
    };
    text += newest;
    const bool follows = arguments.has("follow") && log->writer;
    std::optional<sys::SignalQueue> signals;
    if (follows) {
        auto queue = sys::SignalQueue::of(ending_signals);
        if (!queue)
            return fail_with(queue.error());
        signals = std::move(*queue);
    }
    int code = exit_ok;
    bool interrupted = false;
    for (std::size_t at = 0; at < text.size() && code == exit_ok && !interrupted; at += piece_bytes) {
        std::string piece = text.substr(at, piece_bytes);
        code = answer_bytes(show(piece));
        interrupted = signals && is_readable(signals->fd());
    }
    if (code == exit_ok && follows && !interrupted)
        code = follow(log->path, newest.size(), show, &*log->writer, *signals);
    if (as_text)
        (void)print_bytes(terminal.finish());
    return code;
}

int events_command(const Arguments& arguments) {
    auto places = places_of(arguments);
    if (!places)
        return fail_with(places.error());
    registry::EventLog log(places->events);
    if (auto ok = log.check_readable(); !ok)
        return fail_with(ok.error());
    bool as_json = arguments.has("json");
    auto show = [as_json](const registry::Event& event) {
        return as_json ? base::printable_json(registry::to_json_line(event))
                       : base::printable_lines(event_text(event));
    };
    std::uint64_t size = 0; // of what is shown here: the rest is for who follows
    std::string text;
    for (const registry::Event& event : log.read(&size))
        text += show(event);
    const int shown = answer_bytes(text);
    if (shown != exit_ok || !arguments.has("follow"))
        return shown;
    auto signals = sys::SignalQueue::of(ending_signals);
    if (!signals)
        return fail_with(signals.error());
    return follow(
        log.path(), size,
        [&show](std::string& pending) {
            std::string out;
            std::size_t end = 0;
            while ((end = pending.find('\n')) != std::string::npos) {
                if (auto event = registry::event_from_line(std::string_view(pending).substr(0, end)))
                    out += show(*event);
                pending.erase(0, end + 1);
            }
            return out;
        },
        nullptr, *signals);
}

} // namespace holdfast::cli
