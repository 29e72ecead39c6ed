// What one look at the machine saw of each process: plain facts, no judgement. Taken by src/doctor, judged by
// core/diagnosis. What could not be read is "unknown" and never counts as evidence.
#pragma once

#include "base/identity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::base {

// What a standard stream leads to.
enum class ChannelKind { unknown, closed, null_device, terminal, file, pipe, unix_socket, other };

// Whether anybody is left at the other side of a pipe or a socket, as the kernel itself counts it: holders
// that we may not see (other users, other PID namespaces, descriptors in flight) are in that count.
enum class FarEnd { unknown, alive, gone };

struct Channel {
    ChannelKind kind = ChannelKind::unknown;
    std::uint64_t inode = 0; // of the pipe or the socket
    FarEnd far_end = FarEnd::unknown;
    bool unread = false; // input that was sent and not yet read

    bool operator==(const Channel&) const = default;
};

enum class LinkKind {
    pipe_reader,
    pipe_writer,
    unix_socket,
    quiet_tcp, // a connection (no listener) with nothing in its queues
    other_socket,
};

// One descriptor by which a process can be reached from outside, or can reach out.
struct Link {
    int fd = -1;
    LinkKind kind = LinkKind::other_socket;
    std::uint64_t inode = 0;
    std::uint64_t peer = 0; // unix sockets: inode of the other side, 0 for none
    bool door = false;      // unix sockets: listening, or a datagram socket with a name
    FarEnd far_end = FarEnd::unknown;

    bool operator==(const Link&) const = default;
};

// The same process, looked at twice.
struct Activity {
    bool measured = false; // seen at both ends of the window, with the same start, parent and session
    std::uint64_t cpu_ms = 0;
    std::uint64_t wait_ms = 0; // it wanted a processor, and others had it
    bool runnable = false;     // it ran or wanted to at the second look, and whenever it was looked at since
    std::uint64_t io_bytes = 0;

    bool operator==(const Activity&) const = default;
};

struct ProcessFacts {
    Identity identity; // the pid is in here; the pidfd inode only for processes of our own user
    int ppid = 0;
    int pgrp = 0;
    int session = 0;           // 0: a session that began outside of our PID namespace
    bool has_terminal = false; // a controlling terminal, or a terminal as one of the three standard streams
    char state = '?';
    std::uint64_t age_ms = 0;
    std::uint64_t memory = 0; // resident bytes; shared pages count in each process
    std::uint64_t cpu_ms = 0;
    std::uint64_t wait_ms = 0;
    std::uint64_t io_bytes = 0;
    std::optional<std::uint64_t> idle_ms; // no thread of it has run for so long; where that was asked for

    int uid = -1;
    bool one_uid = false; // real, effective and saved user are the same
    bool kernel_thread = false;
    bool inner_namespace = false; // lives in a PID namespace below ours: a container's process
    bool traced = false;

    std::vector<std::string> argv; // empty for kernel threads and zombies; a title is one word
    std::string comm;
    std::string unit; // innermost systemd unit of its cgroup (x.service, y.scope); empty for none
    std::string mark; // HOLDFAST_MARK of its environment; empty for none or unreadable

    bool descriptors_known = false; // all of them were read; otherwise links and channels are not evidence
    Channel input;                  // descriptor 0; far end: writers
    Channel output;                 // descriptor 1; far end: readers
    std::vector<Link> links;
    Activity activity;

    [[nodiscard]] int pid() const noexcept { return identity.pid; }
};

struct Snapshot {
    std::vector<ProcessFacts> processes;
    int own_pid = 0;
    int own_uid = -1;
    std::uint64_t window_ms = 0; // time between the two looks
};

} // namespace holdfast::base
