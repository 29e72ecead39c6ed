// A made-up machine: processes as plain facts.
#pragma once

#include "core/diagnosis.hpp"

#include <algorithm>
#include <deque>
#include <string>

namespace holdfast::core {
using namespace base;

class World {
public:
    static constexpr int me = 1000; // the user who asks
    static constexpr int init = 1;
    static constexpr int dead_host = 400; // pid and session of a host that is no more

    World() {
        snapshot.own_pid = 99;
        snapshot.own_uid = me;
        snapshot.window_ms = 500;
        ProcessFacts& one = add(init, 0, {"/sbin/init"});
        one.uid = 0;
        one.session = 1;
        one.identity.start_ticks = 1;
        add(99, 98, {"holdfast", "doctor"}).comm = "asker";
        add(98, init, {"bash"}).has_terminal = true;
    }

    // A quiet process with /dev/null for stdio, in its parent's session.
    ProcessFacts& add(int pid, int ppid, std::vector<std::string> argv) {
        ProcessFacts process;
        process.identity = {
            .boot_id = "boot", .pid_ns = 7, .pid = pid, .start_ticks = next_tick_++, .pidfd_inode = 0};
        process.ppid = ppid;
        process.session = process.pgrp = 98;
        process.state = 'S';
        process.age_ms = 3'600'000;
        process.memory = 1 << 20;
        process.uid = me;
        process.one_uid = true;
        process.argv = std::move(argv);
        process.comm = process.argv.empty() ? "?" : process.argv.front();
        process.descriptors_known = true;
        process.input.kind = process.output.kind = ChannelKind::null_device;
        process.activity.measured = true;
        store_.push_back(std::move(process));
        return store_.back();
    }

    // stdin and stdout are pipes to `host`; with host 0 nobody is at the other end.
    void pipe_stdio(ProcessFacts& process, int host) {
        std::uint64_t in = next_inode_++, out = next_inode_++;
        FarEnd far_end = host ? FarEnd::alive : FarEnd::gone;
        process.input = {.kind = ChannelKind::pipe, .inode = in, .far_end = far_end};
        process.output = {.kind = ChannelKind::pipe, .inode = out, .far_end = far_end};
        process.links.push_back({.fd = 0, .kind = LinkKind::pipe_reader, .inode = in, .far_end = far_end});
        process.links.push_back({.fd = 1, .kind = LinkKind::pipe_writer, .inode = out, .far_end = far_end});
        if (host) {
            get(host).links.push_back({.fd = 10, .kind = LinkKind::pipe_writer, .inode = in});
            get(host).links.push_back({.fd = 11, .kind = LinkKind::pipe_reader, .inode = out});
        }
    }

    // The plain case: started by a host that is dead, adopted by PID 1, cut off, idle.
    ProcessFacts& add_orphan(int pid) {
        ProcessFacts& process = add(pid, init, {"node", "server.js"});
        process.session = process.pgrp = dead_host;
        pipe_stdio(process, 0);
        return process;
    }

    ProcessFacts& get(int pid) {
        return *std::ranges::find_if(store_, [&](const ProcessFacts& p) { return p.pid() == pid; });
    }

    std::vector<Finding> diagnose() {
        snapshot.processes.assign(store_.begin(), store_.end());
        return core::diagnose(snapshot, settings);
    }

    Snapshot snapshot;
    DiagnosisSettings settings;

private:
    std::deque<ProcessFacts> store_; // references stay good while it grows
    std::uint64_t next_tick_ = 100;
    std::uint64_t next_inode_ = 5000;
};

} // namespace holdfast::core
