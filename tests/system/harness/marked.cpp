#include "harness/marked.hpp"

#include "base/text.hpp"
#include "harness/pidfd.hpp"
#include "harness/temp_dir.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <set>
#include <sys/random.h>
#include <thread>
#include <unistd.h>

namespace holdfast::harness {
namespace {

constexpr int passes_to_settle = 3;

std::string proc_path(pid_t pid, std::string_view file) {
    return base::cat("/proc/", pid, "/", file);
}

// Visits every process as it is listed. In small batches, because what lives for a millisecond must be looked
// at when it is listed: by the end of a long list it would be gone, and its successor, with a higher number,
// unlisted.
template <class Visit>
void for_each_pid(Visit visit) {
    const sys::Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    alignas(dirent64) char batch[256];
    for (;;) {
        const long size = ::syscall(SYS_getdents64, proc.get(), batch, sizeof batch);
        if (size <= 0)
            return;
        for (long at = 0; at < size;) {
            const auto* entry = reinterpret_cast<const dirent64*>(batch + at);
            at += entry->d_reclen;
            const std::string_view name = entry->d_name;
            pid_t pid = 0;
            const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
            if (error == std::errc{} && end == name.data() + name.size())
                visit(pid);
        }
    }
}

// A process in the middle of an exec has an empty command line for some microseconds although it is no kernel
// thread; it is looked at again instead of being overlooked.
bool between_two_images(pid_t pid) {
    char target[16];
    return ::readlink(proc_path(pid, "exe").c_str(), target, sizeof target) > 0;
}

bool carries(pid_t pid, std::string_view token) {
    for (int attempt = 0; attempt < 50; ++attempt) {
        const auto cmdline = read_file(proc_path(pid, "cmdline"));
        if (!cmdline)
            return false;
        if (cmdline->contains(token))
            return true;
        if (const auto env = read_file(proc_path(pid, "environ")); env && env->contains(token))
            return true;
        if (!cmdline->empty() || !between_two_images(pid))
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return false;
}

} // namespace

std::string to_string(const ProcessInfo& process) {
    return base::cat(process.pid, " (", process.name, ") state ", process.state, " parent ", process.ppid,
                     " group ", process.pgid, " session ", process.sid, ": ", process.cmdline);
}

std::string to_string(const std::vector<ProcessInfo>& processes) {
    std::string text;
    for (const auto& process : processes)
        text += base::cat(to_string(process), '\n');
    return text;
}

Result<ProcessInfo> inspect(pid_t pid) {
    const auto stat = read_file(proc_path(pid, "stat"));
    if (!stat)
        return fail(Errc::not_found, base::cat("no process ", pid));
    // The name may hold blanks and parentheses: it ends at the last one.
    const auto open = stat->find('(');
    const auto close = stat->rfind(')');
    if (open == std::string::npos || close == std::string::npos || close + 2 >= stat->size())
        return fail(Errc::protocol, base::cat("unreadable ", proc_path(pid, "stat"), ": ", *stat));
    ProcessInfo info;
    info.pid = pid;
    info.name = stat->substr(open + 1, close - open - 1);
    info.state = (*stat)[close + 2];
    const char* cursor = stat->c_str() + close + 3;
    char* after = nullptr;
    unsigned long long start = 0;
    long fields[3] = {};
    for (int field = 4; field <= 22; ++field, cursor = after) {
        if (field == 22)
            start = std::strtoull(cursor, &after, 10);
        else if (const long value = std::strtol(cursor, &after, 10); field <= 6)
            fields[field - 4] = value;
    }
    info.ppid = static_cast<pid_t>(fields[0]);
    info.pgid = static_cast<pid_t>(fields[1]);
    info.sid = static_cast<pid_t>(fields[2]);
    info.start = start;
    info.cmdline = read_file(proc_path(pid, "cmdline")).value_or("");
    std::replace(info.cmdline.begin(), info.cmdline.end(), '\0', ' ');
    return info;
}

std::string fresh_token() {
    unsigned char random[8];
    if (::getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
        std::abort(); // cannot happen for 8 bytes; a token that repeats would make every proof worthless
    std::string token = "hf";
    for (const unsigned char byte : random) {
        token += "0123456789abcdef"[byte >> 4];
        token += "0123456789abcdef"[byte & 15];
    }
    return token;
}

std::vector<ProcessInfo> marked_processes(std::string_view token) {
    std::vector<ProcessInfo> found;
    for_each_pid([&](pid_t pid) {
        if (pid == ::getpid() || !carries(pid, token))
            return;
        if (auto info = inspect(pid); info && !info->dead())
            found.push_back(std::move(*info));
    });
    return found;
}

std::vector<ProcessInfo> descendants(pid_t root) {
    std::vector<ProcessInfo> all;
    for_each_pid([&](pid_t pid) {
        if (auto info = inspect(pid))
            all.push_back(std::move(*info));
    });
    std::vector<ProcessInfo> below;
    std::set<pid_t> parents{root};
    for (bool grew = true; grew;) {
        grew = false;
        for (const auto& info : all)
            if (parents.contains(info.ppid) && parents.insert(info.pid).second) {
                below.push_back(info);
                grew = true;
            }
    }
    return below;
}

std::vector<ProcessInfo> settled_survivors(std::string_view token, const Deadline& deadline, pid_t left_out) {
    int clean = 0;
    for (;;) {
        auto found = marked_processes(token);
        std::erase_if(found, [left_out](const ProcessInfo& process) { return process.pid == left_out; });
        clean = found.empty() ? clean + 1 : 0;
        if (clean == passes_to_settle || (!found.empty() && deadline.passed()))
            return found;
        // The kernel has no event for "nobody carries this token any more": the one place that must look
        // again.
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

Result<int> end_marked(std::string_view token, const Deadline& deadline) {
    int signals = 0;
    for (int clean = 0; clean < passes_to_settle;) {
        const auto found = marked_processes(token);
        clean = found.empty() ? clean + 1 : 0;
        for (const auto& process : found) {
            const sys::Fd pidfd(pidfd_open(process.pid));
            if (pidfd && carries(process.pid, token) && pidfd_signal(pidfd.get(), SIGKILL) == 0)
                ++signals;
        }
        if (!found.empty() && deadline.passed())
            return fail(Errc::survivors, base::cat("still there:\n", to_string(found)));
        if (found.empty())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        else
            ::sched_yield();
    }
    return signals;
}

} // namespace holdfast::harness
