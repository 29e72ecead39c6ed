#include "doctor/snapshot.hpp"

#include "base/text.hpp"
#include "core/diagnosis.hpp"
#include "core/lineage.hpp"
#include "doctor/descriptors.hpp"
#include "ending/mark.hpp"
#include "sys/clock.hpp"
#include "sys/proc.hpp"
#include "sys/sched_times.hpp"
#include "sys/tcp_sockets.hpp"
#include "sys/unix_sockets.hpp"

#include <unistd.h>

#include <charconv>
#include <string_view>

namespace holdfast::doctor {

namespace {

using base::ProcessFacts;

struct Units {
    std::uint64_t ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    std::uint64_t page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

    [[nodiscard]] std::uint64_t ms(std::uint64_t ticks) const { return ticks * 1000 / ticks_per_second; }
};

// The rest of the line that begins with `name`, e.g. "Uid:"; empty when there is none.
std::string_view field(std::string_view text, std::string_view name) {
    std::size_t at = 0;
    while (at < text.size()) {
        std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        if (line.starts_with(name))
            return line.substr(name.size());
        at = end + 1;
    }
    return {};
}

std::vector<std::uint64_t> numbers(std::string_view text) {
    std::vector<std::uint64_t> out;
    const char* at = text.data();
    const char* end = at + text.size();
    while (at < end) {
        std::uint64_t number = 0;
        auto [next, error] = std::from_chars(at, end, number);
        if (error == std::errc{}) {
            out.push_back(number);
            at = next;
        } else {
            ++at;
        }
    }
    return out;
}

void read_status(ProcessFacts& process) {
    auto text = sys::read_small_file(base::cat("/proc/", process.pid(), "/status"), 65536);
    if (!text)
        return;
    auto uids = numbers(field(*text, "Uid:"));
    if (uids.size() >= 3) {
        process.uid = static_cast<int>(uids[1]);
        process.one_uid = uids[0] == uids[1] && uids[1] == uids[2];
    }
    process.inner_namespace = numbers(field(*text, "NSpid:")).size() > 1;
    auto tracer = numbers(field(*text, "TracerPid:"));
    process.traced = !tracer.empty() && tracer[0] != 0;
    auto kernel = numbers(field(*text, "Kthread:")); // since 6.6
    process.kernel_thread |= !kernel.empty() && kernel[0] == 1;
    auto threads = numbers(field(*text, "Threads:"));
    if (process.state == 'Z' && !threads.empty() && threads[0] > 1)
        process.state = '?'; // only its first thread ended; the process lives
}

// Bytes read and written by system calls so far; nothing when not ours to see.
std::optional<std::uint64_t> read_io_bytes(int pid) {
    auto text = sys::read_small_file(base::cat("/proc/", pid, "/io"), 4096);
    if (!text)
        return std::nullopt;
    auto in = numbers(field(*text, "rchar:"));
    auto out = numbers(field(*text, "wchar:"));
    return in.empty() || out.empty() ? std::nullopt : std::optional(in[0] + out[0]);
}

constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr std::chrono::milliseconds longest_turn{300};

bool is_channel(const base::Channel& channel) {
    return channel.kind == base::ChannelKind::pipe || channel.kind == base::ChannelKind::unix_socket;
}

// What costs more to read, only for those that a rule may ask it of: helpers, and what came to another
// parent.
void read_more(ProcessFacts& process, const ProcessFacts* parent) {
    bool moved = parent && process.session != parent->session;
    std::string base = base::cat("/proc/", process.pid());
    if (moved || is_channel(process.input))
        process.unit = core::unit_of_cgroup(sys::read_cgroups(process.pid()));
    if (moved)
        process.mark = sys::read_environment_variable(process.pid(), ending::mark_variable).value_or("");
}

std::optional<ProcessFacts> look_at(pid_t pid, const Units& units, std::uint64_t now_ms, int own_uid,
                                    const sys::UnixSockets& sockets) {
    // Open before the first read: as long as it has not ended at the last, everything was about one process.
    auto held = sys::PidFd::open(pid);
    auto stat = sys::read_stat(pid);
    if (!held || !stat)
        return std::nullopt;
    ProcessFacts out;
    out.identity.boot_id = sys::boot_id();
    out.identity.pid_ns = sys::pid_namespace_inode();
    out.identity.pid = pid;
    out.identity.start_ticks = stat->start_ticks;
    out.identity.pidfd_inode = held->unique_inode();
    out.ppid = stat->ppid;
    out.pgrp = stat->pgrp;
    out.session = stat->session;
    out.has_terminal = stat->tty != 0;
    out.state = stat->state;
    out.comm = stat->comm;
    std::uint64_t born_ms = units.ms(stat->start_ticks);
    out.age_ms = now_ms > born_ms ? now_ms - born_ms : 0;
    out.memory = stat->rss_pages * units.page_bytes;
    out.cpu_ms = units.ms(stat->cpu_ticks);
    out.kernel_thread = pid == 2 || stat->ppid == 2;
    if (out.kernel_thread)
        return out;
    read_status(out);
    if (out.state == 'Z')
        return out;
    out.argv = core::without_title_padding(sys::read_cmdline(pid));
    read_descriptors(out, sockets);
    if (out.uid == own_uid && out.descriptors_known)
        probe_standard_streams(out);
    if (held->ended())
        return std::nullopt;
    return out;
}

void look_again(ProcessFacts& process, const Units& units) {
    auto held = sys::PidFd::open(process.pid());
    auto stat = sys::read_stat(process.pid());
    process.activity = {};
    if (!held || !stat || held->unique_inode() != process.identity.pidfd_inode ||
        stat->start_ticks != process.identity.start_ticks || stat->ppid != process.ppid ||
        stat->session != process.session || (stat->state == 'Z') != (process.state == 'Z'))
        return;
    if (process.state != 'Z') {
        auto io_bytes = read_io_bytes(process.pid());
        auto times = sys::read_sched_times(process.pid());
        if (!io_bytes || !times)
            return;
        std::uint64_t wait_ms = times->waited_ns / ns_per_ms;
        process.activity.wait_ms = wait_ms - std::min(wait_ms, process.wait_ms);
        process.activity.runnable = times->runnable;
        process.activity.io_bytes = *io_bytes - std::min(*io_bytes, process.io_bytes);
        std::uint64_t cpu_ms = units.ms(stat->cpu_ticks);
        process.activity.cpu_ms = cpu_ms - std::min(cpu_ms, process.cpu_ms);
    }
    process.activity.measured = true;
}

// The kernel's list of connections can be long: it is read when one of those who matter has such a socket.
void name_quiet_connections(base::Snapshot& snapshot, const std::unordered_set<int>& suspects) {
    std::optional<std::unordered_set<std::uint64_t>> quiet;
    for (ProcessFacts& process : snapshot.processes) {
        if (!suspects.contains(process.pid()))
            continue;
        for (base::Link& link : process.links) {
            if (link.kind != base::LinkKind::other_socket)
                continue;
            if (!quiet)
                quiet = sys::quiet_tcp_connections();
            if (quiet->contains(link.inode))
                link.kind = base::LinkKind::quiet_tcp;
        }
    }
}

} // namespace

Result<base::Snapshot> take_snapshot() {
    base::Snapshot out;
    out.own_pid = ::getpid();
    out.own_uid = static_cast<int>(::geteuid());
    Units units;
    // Without this list every socket is one of unknown kind, and nothing about sockets can be proven.
    sys::UnixSockets sockets = sys::list_unix_sockets().value_or(sys::UnixSockets{});
    auto pids = sys::all_pids();
    if (pids.empty())
        return fail(Errc::unsupported, "/proc shows no processes; mount it to have this machine looked at");
    auto now_ms = static_cast<std::uint64_t>(sys::boottime_ms());
    out.processes.reserve(pids.size());
    for (pid_t pid : pids)
        if (auto process = look_at(pid, units, now_ms, out.own_uid, sockets))
            out.processes.push_back(std::move(*process));
    core::Lineage lineage(out);
    for (ProcessFacts& process : out.processes)
        if (process.uid == out.own_uid && process.state != 'Z')
            read_more(process, lineage.find(process.ppid));
    auto suspects = core::worth_watching(out);
    for (ProcessFacts& process : out.processes)
        if (process.uid == out.own_uid && process.descriptors_known && suspects.contains(process.pid()))
            probe_links(process);
    name_quiet_connections(out, suspects);
    const auto several = core::worth_dating(out);
    for (ProcessFacts& process : out.processes)
        if (several.contains(process.pid()))
            process.idle_ms = sys::read_idle_ms(process.pid());
    return out;
}

void measure_activity(base::Snapshot& snapshot, const std::unordered_set<int>& pids,
                      std::chrono::milliseconds window, std::chrono::milliseconds zombie_patience) {
    if (pids.empty())
        return;
    Units units;
    for (ProcessFacts& process : snapshot.processes)
        if (pids.contains(process.pid()) && process.state != 'Z') {
            process.io_bytes = read_io_bytes(process.pid()).value_or(0);
            auto times = sys::read_sched_times(process.pid()).value_or(sys::SchedTimes{});
            process.wait_ms = times.waited_ns / ns_per_ms;
        }
    std::int64_t began = sys::boottime_ms();
    sys::pass_time(window);
    std::vector<ProcessFacts*> slow;
    for (ProcessFacts& process : snapshot.processes) {
        if (!pids.contains(process.pid()))
            continue;
        look_again(process, units);
        if (process.state == 'Z' && process.ppid == 1 && process.activity.measured)
            slow.push_back(&process);
    }
    // The kernel counts a wait for a processor when it is over, and one that is not over may be a timer's
    // turn or a computation that gets nothing. So whoever is runnable is looked at until it sleeps.
    sys::Deadline sleeps_by = sys::Deadline::in(longest_turn);
    for (ProcessFacts& process : snapshot.processes)
        while (process.activity.runnable && !sleeps_by.passed()) {
            sys::pass_time(
                std::chrono::milliseconds(5)); // the kernel tells nobody when a thread falls asleep
            look_again(process, units);
        }
    snapshot.window_ms = static_cast<std::uint64_t>(sys::boottime_ms() - began);
    sys::Deadline patience = sys::Deadline::at(began + zombie_patience.count());
    while (!slow.empty() && !patience.passed()) {
        sys::pass_time(std::chrono::milliseconds(100)); // nor when an init collects a zombie
        std::erase_if(slow, [&](ProcessFacts* process) {
            look_again(*process, units);
            return !process->activity.measured;
        });
    }
}

} // namespace holdfast::doctor
