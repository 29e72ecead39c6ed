// A supervisor under a private home, and a helper that does what it is told (children/rpc_helper.c).
#pragma once

#include "harness/eventually.hpp"
#include "harness/holdfast_program.hpp"
#include "harness/pidfd.hpp"
#include "holdfast/supervisor.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace holdfast::supervise_test {

using namespace std::chrono_literals;
using harness::Deadline;
using test::patient;

class SupervisorTest : public ::testing::Test {
protected:
    SupervisorTest() {
        ::setenv("HOLDFAST_HOME", home.path().c_str(), 1);
        ::setenv("HOLDFAST_KEEP", harness::program("holdfast-keep").c_str(), 1);
    }

    Supervisor make() {
        auto made = Supervisor::create();
        EXPECT_TRUE(made.has_value()) << made.error().message;
        return std::move(*made);
    }

    // rpc_helper with these words; quick to stop.
    HelperSpec helper(std::vector<std::string> words = {}) const {
        HelperSpec spec;
        spec.command = home.animal("rpc_helper", std::move(words));
        spec.stop_plan = "eof:500ms,term:500ms,kill";
        return spec;
    }
    // The same, ready when its health method says so.
    HelperSpec healthy(std::vector<std::string> words = {}) const {
        HelperSpec spec = helper(std::move(words));
        spec.ready_by = ReadyBy::health;
        spec.health.method = "health";
        spec.health.while_starting = 10ms;
        return spec;
    }

    // Helper processes that live now; keepers are not counted.
    [[nodiscard]] std::vector<pid_t> helpers() const {
        std::vector<pid_t> out;
        for (const harness::ProcessInfo& process : harness::marked_processes(home.mark().token()))
            if (process.name == "rpc_helper")
                out.push_back(process.pid);
        return out;
    }
    // Nothing of all that was started is left, keepers included.
    void expect_nothing_left(std::chrono::seconds within = 10s) const {
        const auto left = harness::settled_survivors(home.mark().token(), Deadline::in(within));
        EXPECT_TRUE(left.empty()) << to_string(left);
    }
    void kill_by_pid(pid_t pid) const {
        auto process = harness::open_pidfd(pid);
        ASSERT_TRUE(process.has_value());
        EXPECT_EQ(harness::pidfd_signal(process->get(), SIGKILL), 0);
        EXPECT_TRUE(harness::wait_pidfd(process->get(), Deadline::in(10s)).has_value());
    }

    static int number(const Result<Reply>& reply) {
        return reply && reply->ok() ? std::atoi(reply->json.c_str()) : -1;
    }

    harness::HoldfastHome home;
};

// The answer as text, or the error's name: for EXPECT_EQ.
inline std::string text_of(const Result<Reply>& reply) {
    if (!reply)
        return std::string(name_of(reply.error().code)) + ": " + reply.error().message;
    return reply->ok() ? reply->json
                       : "remote " + std::to_string(reply->error->code) + ": " + reply->error->message;
}

} // namespace holdfast::supervise_test
