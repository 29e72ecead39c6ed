// One slot_child in the hands of a test, and the slot they are all about.
#pragma once

#include "harness/child.hpp"
#include "harness/eventually.hpp"
#include "harness/holdfast_program.hpp"
#include "harness/marked.hpp"
#include "harness/temp_dir.hpp"
#include "holdfast/slot.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::slot_test {

inline harness::Deadline soon(int ms = 20'000) {
    return harness::Deadline::in(std::chrono::milliseconds(ms));
}

class Actor {
public:
    Actor(const std::string& directory, const std::string& token, const std::string& name = "slot",
          std::vector<std::string> env = {}) {
        env.push_back("ZOO_TOKEN=" + token);
        auto made = harness::Child::spawn({.argv = {harness::program("slot_child"), directory, name},
                                           .env = std::move(env),
                                           .in = harness::Stdio::pipe,
                                           .out = harness::Stdio::pipe});
        if (!made)
            throw std::runtime_error(made.error().message);
        child_ = std::move(*made);
    }

    // One command and its answer.
    std::string ask(const std::string& command, int within_ms = 20'000) {
        tell(command);
        return hear(within_ms);
    }
    void tell(const std::string& command) {
        if (auto ok = child_.write_in(command + "\n"); !ok)
            ADD_FAILURE() << command << ": " << ok.error().message;
    }
    std::string hear(int within_ms = 20'000) {
        auto line = child_.out().read_line(soon(within_ms));
        return line ? *line : "no answer: " + line.error().message;
    }
    // Whether it has answered within exactly this time; the answer stays for hear().
    bool answers_within(int ms) {
        auto deadline = harness::Deadline::exactly(std::chrono::milliseconds(ms));
        return harness::eventually(deadline, [this] {
            (void)child_.out().drain_once();
            return child_.out().buffered().find('\n') != std::string::npos;
        });
    }
    // Returns when it waits for the slot: a child of its own then stands in the kernel's queue for the lock.
    // That it has not answered for a while does not tell that.
    [[nodiscard]] bool comes_to_wait() const {
        return harness::eventually(soon(), [this] { return !harness::descendants(pid()).empty(); });
    }

    [[nodiscard]] pid_t pid() const { return child_.pid(); }
    harness::Child& child() { return child_; }
    void kill() { EXPECT_TRUE(child_.kill()); }
    void signal(int number) { EXPECT_TRUE(child_.signal(number)); }
    // Until the kernel shows it in this state ('T' for stopped).
    bool reaches_state(char state);

private:
    harness::Child child_;
};

// A directory, a token for all that is started, and actors in it.
class SlotTest : public ::testing::Test {
protected:
    Actor actor(const std::string& name = "slot") { return {directory(), mark_.token(), name, env_}; }
    [[nodiscard]] std::string directory() const { return directory_.path().string(); }
    [[nodiscard]] SlotLocation slot(const std::string& name = "slot") const { return {directory(), name}; }
    [[nodiscard]] SlotInfo look() const;

    harness::TempDir directory_;
    harness::MarkGuard mark_;
    std::vector<std::string> env_;
};

inline bool begins(const std::string& text, const std::string& with) {
    return text.starts_with(with);
}
#define EXPECT_SAYS(text, with) EXPECT_PRED2(::holdfast::slot_test::begins, text, with)
#define ASSERT_SAYS(text, with) ASSERT_PRED2(::holdfast::slot_test::begins, text, with)

// What a directory's files are, in a form that changes with any change: names, inodes, sizes, times.
std::string listing(const std::string& directory);

} // namespace holdfast::slot_test
