// Animals of the zoo that an Ender is to end.
#pragma once

#include "ending/ender.hpp"
#include "harness/holdfast_program.hpp"
#include "harness/notify_file.hpp"
#include "support/patience.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::ending_test {

using namespace std::chrono_literals;
using harness::Child;
using harness::Deadline;

struct Animal {
    Child child;
    std::vector<sys::PidFd> tree; // all of it, the child first
    [[nodiscard]] bool all_gone() const { return wait_all_ended(tree, sys::Deadline::at(0)); }
};

class EndingTest : public ::testing::Test {
protected:
    [[nodiscard]] Animal start(const std::string& name, std::vector<std::string> words = {}) const {
        auto child = Child::spawn(home.command_of("zoo/" + name, std::move(words)));
        EXPECT_TRUE(child.has_value());
        auto line = child->out().read_line(Deadline::in(20s));
        EXPECT_TRUE(line.has_value());
        Animal out{.child = std::move(*child), .tree = {}};
        for (const pid_t pid : harness::parse_ready(*line).value_or(std::vector<pid_t>{}))
            if (auto held = sys::PidFd::open(pid))
                out.tree.push_back(std::move(*held));
        EXPECT_FALSE(out.tree.empty());
        return out;
    }
    static sys::PidFd held(const Child& child) { return sys::PidFd::open(child.pid()).value(); }

    harness::HoldfastHome home;
};

inline constexpr base::Millis never{3'600'000}; // a time that must not be reached

} // namespace holdfast::ending_test
