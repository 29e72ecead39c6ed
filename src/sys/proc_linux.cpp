#include "sys/proc.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "sys/errors.hpp"
#include "sys/whole_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>

namespace holdfast::sys {

namespace {

struct CloseDir {
    void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

template <class N>
bool parse_number(std::string_view text, N& out) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

std::vector<pid_t> numbers_in(const std::string& directory) {
    std::vector<pid_t> out;
    Dir dir(::opendir(directory.c_str()));
    if (!dir)
        return out;
    while (const dirent* entry = ::readdir(dir.get())) {
        pid_t number = 0;
        if (parse_number(std::string_view(entry->d_name), number))
            out.push_back(number);
    }
    return out;
}

} // namespace

namespace {
std::optional<std::string> read_file(const std::string& path, std::size_t limit, ReadEnd end) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::string out;
    return fd && read_to_end(fd.get(), out, limit, end) == 0 ? std::optional(std::move(out)) : std::nullopt;
}
} // namespace

std::optional<std::string> read_small_file(const std::string& path, std::size_t limit) {
    return read_file(path, limit, ReadEnd::empty_read);
}
std::optional<std::string> read_at_once(const std::string& path, std::size_t limit) {
    return read_file(path, limit, ReadEnd::short_read);
}

std::optional<ProcStat> parse_stat(std::string_view text) {
    std::size_t open = text.find('(');
    std::size_t close = text.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
        return std::nullopt;
    ProcStat out;
    out.comm = text.substr(open + 1, close - open - 1);
    // Fields from the third on: state ppid pgrp session tty … utime(14) stime(15) … starttime(22) vsize
    // rss(24)
    std::array<std::string_view, 22> fields{};
    std::size_t count = 0;
    std::string_view rest = text.substr(close + 1);
    while (count < fields.size() && rest.starts_with(' ')) {
        rest.remove_prefix(1);
        std::size_t end = std::min(rest.find(' '), rest.size());
        fields[count++] = rest.substr(0, rest.substr(0, end).ends_with('\n') ? end - 1 : end);
        rest.remove_prefix(end);
    }
    if (count < fields.size() || fields[0].size() != 1)
        return std::nullopt;
    out.state = fields[0][0];
    std::uint64_t user = 0, system = 0;
    std::int64_t rss = 0;
    if (!parse_number(fields[1], out.ppid) || !parse_number(fields[2], out.pgrp) ||
        !parse_number(fields[3], out.session) || !parse_number(fields[4], out.tty) ||
        !parse_number(fields[11], user) || !parse_number(fields[12], system) ||
        !parse_number(fields[19], out.start_ticks) || !parse_number(fields[21], rss))
        return std::nullopt;
    out.cpu_ticks = user + system;
    unsigned flags = 0; // include/linux/sched.h
    if (parse_number(fields[6], flags)) {
        out.exiting = (flags & 0x4U) != 0;
        out.kernel_thread = (flags & 0x200000U) != 0;
    }
    out.rss_pages = rss > 0 ? static_cast<std::uint64_t>(rss) : 0;
    return out;
}

std::optional<ProcStat> read_stat(pid_t pid) {
    auto text = read_at_once(base::cat("/proc/", pid, "/stat"), 4096);
    return text ? parse_stat(*text) : std::nullopt;
}

std::vector<std::string> read_cmdline(pid_t pid) {
    std::vector<std::string> out;
    auto text = read_small_file(base::cat("/proc/", pid, "/cmdline"), std::size_t{4} << 20);
    if (!text)
        return out;
    std::size_t start = 0;
    while (start < text->size()) {
        std::size_t end = text->find('\0', start);
        if (end == std::string::npos)
            end = text->size();
        out.push_back(text->substr(start, end - start));
        start = end + 1;
    }
    return out;
}

std::string join_command(const std::vector<std::string>& argv) {
    constexpr std::size_t limit = 200;
    std::string out;
    for (const std::string& word : argv) {
        if (!out.empty())
            out += ' ';
        bool plain =
            !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                    "0123456789@%+=:,./_-") == std::string::npos;
        if (plain) {
            out += word;
        } else {
            out += '\'';
            for (char c : word) {
                if (c == '\'')
                    out += "'\\''";
                else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                    out += '?'; // a control character in a command must not steer the reader's terminal
                else
                    out += c;
            }
            out += '\'';
        }
        if (out.size() > limit) {
            out.resize(base::cut_at_character(out, limit).size());
            return out + "…";
        }
    }
    return out;
}

std::string command_line_for_people(pid_t pid) {
    auto argv = read_cmdline(pid);
    if (!argv.empty())
        return join_command(argv);
    auto stat = read_stat(pid);
    return stat ? base::cat('[', stat->comm, ']') : std::string("(gone)");
}

std::vector<pid_t> all_pids() {
    return numbers_in("/proc");
}

std::vector<pid_t> threads_of(pid_t pid) {
    return numbers_in(base::cat("/proc/", pid, "/task"));
}

std::vector<int> open_descriptors() {
    return numbers_in("/proc/self/fd");
}

std::vector<pid_t> children_of(pid_t pid) {
    std::vector<pid_t> out;
    for (pid_t thread : threads_of(pid)) {
        auto text = read_small_file(base::cat("/proc/", pid, "/task/", thread, "/children"));
        if (!text)
            continue;
        std::string_view rest = *text;
        while (!rest.empty()) {
            std::size_t end = rest.find(' ');
            pid_t child = 0;
            if (parse_number(rest.substr(0, end), child))
                out.push_back(child);
            if (end == std::string_view::npos)
                break;
            rest.remove_prefix(end + 1);
        }
    }
    return out;
}

std::optional<std::string> read_environment(pid_t pid) {
    return read_small_file(base::cat("/proc/", pid, "/environ"), std::size_t{4} << 20);
}

std::optional<std::string> variable_in(std::string_view environment, std::string_view name) {
    std::string_view rest = environment;
    while (!rest.empty()) {
        std::size_t end = rest.find('\0');
        std::string_view entry = rest.substr(0, end);
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
            return std::string(entry.substr(name.size() + 1));
        if (end == std::string_view::npos)
            break;
        rest.remove_prefix(end + 1);
    }
    return std::nullopt;
}

std::optional<std::string> read_environment_variable(pid_t pid, std::string_view name) {
    auto text = read_environment(pid);
    return text ? variable_in(*text, name) : std::nullopt;
}

bool is_pending(pid_t pid, int signal) {
    const std::string status = read_small_file(base::cat("/proc/", pid, "/status"), 65536).value_or("");
    for (std::string_view pending : {"\nSigPnd:", "\nShdPnd:"}) {
        const std::size_t at = status.find(pending);
        if (at == std::string::npos)
            continue;
        const std::uint64_t signals = std::strtoull(status.c_str() + at + pending.size(), nullptr, 16);
        if ((signals & (std::uint64_t{1} << (signal - 1))) != 0)
            return true;
    }
    return false;
}

std::optional<uid_t> user_of(pid_t pid) {
    // Not the owner of /proc/PID: that is root for every process that is not dumpable.
    const std::string status = read_small_file(base::cat("/proc/", pid, "/status"), 65536).value_or("");
    constexpr std::string_view title = "\nUid:\t"; // real, effective, saved, of the file system
    const std::size_t at = status.find(title);
    if (at == std::string::npos)
        return std::nullopt;
    return static_cast<uid_t>(std::strtoul(status.c_str() + at + title.size(), nullptr, 10));
}

bool is_doomed(pid_t pid) {
    auto stat = read_stat(pid);
    return !stat || stat->exiting || stat->state == 'Z' || stat->state == 'X' || is_pending(pid, SIGKILL);
}

bool is_stopped(pid_t pid) {
    auto stat = read_stat(pid);
    return stat && stat->state == 'T';
}

void continue_stopped(const PidFd& process) {
    if (is_stopped(process.pid()))
        (void)process.signal(SIGCONT);
}

std::string read_cgroups(pid_t pid) {
    return read_small_file(base::cat("/proc/", pid, "/cgroup"), 65536).value_or("");
}

double start_unix_seconds(std::uint64_t start_ticks) {
    const auto stat = read_small_file("/proc/stat", std::size_t{1} << 22).value_or("");
    const std::size_t at = stat.find("btime ");
    const double boot = at == std::string::npos ? 0 : std::strtod(stat.c_str() + at + 6, nullptr);
    return boot + static_cast<double>(start_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

const std::string& boot_id() {
    // One boot per process: read once. Never destroyed: a thread that looks after leftovers may still be at
    // it while the host's static objects go.
    static const std::string* const id = [] {
        auto text = read_small_file("/proc/sys/kernel/random/boot_id", 256).value_or("");
        while (!text.empty() && text.back() == '\n')
            text.pop_back();
        return new std::string(std::move(text));
    }();
    return *id;
}

std::uint64_t pid_namespace_inode() {
    struct stat ns{};
    return ::stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
}

namespace {
// It lives, and /proc does not say a word about it.
std::unexpected<Error> cannot_look_at(pid_t pid) {
    const std::string what = base::cat("look at process ", pid);
    if (const Fd self(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC)); !self) {
        if (errno != ENOENT && errno != ENOTDIR)
            return fail_sys(what);
        return fail(Errc::unsupported, base::cat("cannot ", what,
                                                 ": /proc is not mounted here, and Holdfast needs it; run: "
                                                 "mount -t proc proc /proc"));
    }
    return fail(Errc::not_permitted, base::cat("cannot ", what, ": /proc does not show it to this user"));
}
} // namespace

Result<base::Identity> identify(const PidFd& process) {
    auto stat = read_stat(process.pid());
    // The pidfd was open before we read: if it has not ended now, what we read was about it.
    if (process.ended())
        return fail(Errc::not_found, base::cat("process ", process.pid(), " has ended"));
    if (!stat)
        return cannot_look_at(process.pid());
    base::Identity out;
    out.boot_id = boot_id();
    out.pid_ns = pid_namespace_inode();
    out.pid = process.pid();
    out.start_ticks = stat->start_ticks;
    out.pidfd_inode = process.unique_inode();
    return out;
}

Result<PidFd> open_same(const base::Identity& identity) {
    if (identity.boot_id == boot_id() && identity.pid_ns != 0 && identity.pid_ns != pid_namespace_inode())
        return fail(Errc::unreachable,
                    base::cat("process ", identity.pid, " lives in another PID namespace"));
    auto process = PidFd::open(identity.pid);
    if (!process)
        return fail(process.error().code == Errc::invalid_argument ? Errc::not_found : process.error().code,
                    process.error().message, process.error().sys);
    auto now = identify(*process);
    if (!now && now.error().code != Errc::not_found)
        return std::unexpected(now.error());
    if (!now || !base::same_process(*now, identity))
        return fail(Errc::not_found,
                    base::cat("process ", identity.pid, " has ended; its number may be another's now"));
    return process;
}

Result<base::Identity> identify_self(std::string token) {
    // A process stays who it is: found out once, and again in the child of a fork, which may have the number
    // of its parent in a PID namespace of its own. Never destroyed, as above.
    struct Known {
        std::mutex mutex;
        base::Identity identity;
    };
    static Known* known = nullptr;
    static const int forks_are_told = [] {
        known = new Known;
        return ::pthread_atfork(nullptr, nullptr, [] {
            std::construct_at(&known->mutex); // another thread of the parent may have held it
            known->identity.pid = 0;
        });
    }();
    {
        const std::lock_guard guard(known->mutex);
        if (forks_are_told == 0 && known->identity.pid == ::getpid()) {
            base::Identity identity = known->identity;
            identity.token = std::move(token);
            return identity;
        }
    }
    auto self = PidFd::open(::getpid());
    if (!self)
        return std::unexpected(self.error());
    auto identity = identify(*self);
    if (!identity)
        return identity;
    if (const std::lock_guard guard(known->mutex); true)
        known->identity = *identity;
    identity->token = std::move(token);
    return identity;
}

} // namespace holdfast::sys
