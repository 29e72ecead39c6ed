// An animal started for its self-test, and its "ready" line read.
#pragma once

#include "harness/eventually.hpp"
#include "harness/holdfast_program.hpp"
#include "harness/notify_file.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

namespace holdfast::harness {

using namespace std::chrono_literals;

class Zoo : public testing::Test {
protected:
    // Starts it, waits for its "ready", and puts its pids into `pids`, its own first.
    Child start(const std::string& name, std::vector<std::string> words = {}) {
        auto child = Child::spawn(spec(name, std::move(words)));
        EXPECT_TRUE(child) << child.error().message;
        if (!child)
            return {};
        const auto line = child->out().read_line(Deadline::in(10s));
        EXPECT_TRUE(line) << line.error().message;
        const auto said = parse_ready(line.value_or(""));
        EXPECT_TRUE(said);
        pids = said.value_or(std::vector<pid_t>{});
        return std::move(*child);
    }

    SpawnSpec spec(const std::string& name, std::vector<std::string> words) const {
        auto made = home.command_of("zoo/" + name, std::move(words));
        made.in = Stdio::pipe;
        return made;
    }

    // Whether a process is gone or dead, without asking whether somebody reaped it.
    static bool gone(pid_t pid) {
        const auto info = inspect(pid);
        return !info || info->dead();
    }
    static bool in_state(pid_t pid, char state) {
        return eventually(Deadline::in(5s), [&] {
            const auto info = inspect(pid);
            return info && info->state == state;
        });
    }
    bool marked(pid_t pid) const {
        for (const auto& process : marked_processes(home.mark().token()))
            if (process.pid == pid)
                return true;
        return false;
    }

    HoldfastHome home; // its token ends everything at the end of the test
    std::vector<pid_t> pids;
};

} // namespace holdfast::harness
