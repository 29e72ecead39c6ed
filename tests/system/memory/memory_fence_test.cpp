// An owner that was replaced while it stood still, or whose lock was wiped away: it refuses to write, and
// leaves.
#include "holdfast/slot.hpp"
#include "memory/writer/store.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

#include <sys/ptrace.h>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

void stop(const MemoryProcess& memory) {
    ::kill(memory.pid(), SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(memory.pid(), &status, WUNTRACED), memory.pid());
    ASSERT_TRUE(WIFSTOPPED(status));
}

TEST(G10NothingAcknowledgedIsLost, an_owner_that_was_stopped_and_replaced_cannot_write_when_it_wakes_up) {
    const TempHome home;
    MemoryProcess paused(home.path());
    prepare(paused);
    ASSERT_TRUE(paused.call("turn.end", turn_params(1)).contains("result"));
    stop(paused);
    // Its lock goes away with the folder's files, as when a runtime folder is cleaned: another process may
    // start.
    ASSERT_TRUE(std::filesystem::remove(home.file("memory.lock")));
    MemoryProcess successor(home.path());
    ASSERT_TRUE(successor.call("turn.end", turn_params(2)).contains("result"));
    EXPECT_EQ(served_by(successor), successor.pid());
    paused.write(turn_line(3)); // waits in its pipe, to be the first thing that it sees
    ::kill(paused.pid(), SIGCONT);
    // It either never reads it or refuses it; in no case it says that it was stored.
    while (const auto line = paused.line()) {
        const auto answer = json::parse(*line).as_object();
        ASSERT_TRUE(answer.contains("error")) << *line;
        EXPECT_EQ(answer.at("error").at("data").at("code"), "transport_closed");
    }
    EXPECT_EQ(paused.wait(), 1) << "it left by itself";
    EXPECT_EQ(traces_in(successor), 2);
    EXPECT_EQ(served_by(successor), successor.pid());
}

TEST(G10NothingAcknowledgedIsLost, an_owner_that_finds_a_newer_epoch_in_the_store_refuses_and_leaves) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [old_owner, attached] = both;
    ASSERT_TRUE(old_owner.call("turn.end", turn_params(1)).contains("result"));
    {
        // What a successor does that our locks could not keep out (on another machine, say): it raises the
        // epoch.
        memory::StoreOptions options;
        options.path = home.file("data/memory.db");
        ASSERT_TRUE(memory::Store::open(options, [](const memory::Progress&) {}));
    }
    const auto refused = old_owner.call("turn.end", turn_params(2));
    ASSERT_TRUE(refused.contains("error")) << json::serialize(refused);
    EXPECT_EQ(refused.at("error").at("data").at("code"), "transport_closed");
    EXPECT_EQ(refused.at("error").at("data").at("details").at("retryable"), true);
    EXPECT_EQ(old_owner.wait(), 1);
    // Who was attached goes on with a new owner, which has a newer epoch yet.
    EXPECT_EQ(served_by(attached), attached.pid());
    EXPECT_TRUE(attached.call("turn.end", turn_params(3)).contains("result"));
    EXPECT_EQ(traces_in(attached), 2);
}

TEST(G1OneOwner, an_owner_whose_lock_was_wiped_away_leaves_and_its_clients_go_on) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, attached] = both;
    ASSERT_TRUE(std::filesystem::remove(home.file("memory.lock")));
    EXPECT_EQ(owner.wait(), 1) << "nobody told it but the kernel";
    EXPECT_EQ(served_by(attached), attached.pid());
    EXPECT_TRUE(attached.call("turn.end", turn_params(1)).contains("result"));
    EXPECT_TRUE(attached.others.empty()) << "no error, only a pause";
    // Negative control: touching other files of the home does not move the owner.
    home.write("memory.json.tmp", "noise");
    std::filesystem::permissions(home.file("memory.lock"),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_EQ(served_by(attached), attached.pid());
}

// What the kernel says of it: 'T' is stopped.
char state_of(const MemoryProcess& memory) {
    const auto text = TempHome::read_path("/proc/" + std::to_string(memory.pid()) + "/stat");
    return text.at(text.rfind(')') + 2);
}

std::int64_t unix_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Nothing is answered "stored" that went into a file which nobody will find, and the others go on with what
// lies there now, or begin anew.
TEST(G10NothingAcknowledgedIsLost, an_owner_whose_database_was_taken_away_stores_nothing_and_leaves) {
    enum class Taken { data, database, home };
    for (const auto taken : {Taken::data, Taken::database, Taken::home}) {
        const TempHome home;
        MemoryProcess owner(home.path());
        prepare(owner);
        MemoryProcess other(home.path());
        ASSERT_TRUE(other.call("turn.end", turn_params(1)).contains("result"));
        if (taken == Taken::data)
            std::filesystem::remove_all(home.file("data"));
        else if (taken == Taken::home)
            std::filesystem::remove_all(home.path());
        else { // as who puts back a copy
            home.copy("data/memory.db", "data/copy.db");
            std::filesystem::rename(home.file("data/copy.db"), home.file("data/memory.db"));
        }
        const auto refused = owner.call("turn.end", turn_params(2));
        ASSERT_TRUE(refused.contains("error")) << boost::json::serialize(refused);
        EXPECT_EQ(refused.at("error").at("data").at("code"), "transport_closed");
        EXPECT_EQ(owner.wait_briefly(), 1);
        auto stored = other.call("memory.add", {{"text", "life goes on"}});
        if (!stored.contains("result")) // it was on its way when the owner left
            stored = other.call("memory.add", {{"text", "life goes on"}});
        EXPECT_TRUE(stored.contains("result")) << boost::json::serialize(stored);
        other.close_input();
        EXPECT_EQ(other.wait_briefly(), 0);
    }
}

TEST(G7Patience, an_owner_that_is_stopped_is_woken_by_a_client_that_waits_and_nothing_is_lost_or_doubled) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, second] = both;
    ASSERT_TRUE(second.call("turn.end", turn_params(1)).contains("result"));
    for (int round = 0; round < 2; ++round) { // it may be stopped again
        stop(owner);
        const auto began = unix_ms();
        const auto found = second.call("turn.start", {{"agent", "a"},
                                                      {"sessionId", "s"},
                                                      {"userText", "n1"},
                                                      {"ts", 9},
                                                      {"deadlineAt", began + 1500}});
        ASSERT_TRUE(found.contains("result")) << "no answer";
        EXPECT_LT(unix_ms() - began, 10'000) << "one second, and what a busy machine adds";
    }
    stop(owner);
    for (int number = 2; number <= 20; ++number)
        second.write(turn_line(number));
    owner.write(turn_line(21)); // its own client waits, too
    for (int number = 2; number <= 20; ++number) {
        const auto line = second.line();
        ASSERT_TRUE(line);
        EXPECT_TRUE(json::parse(*line).as_object().contains("result")) << *line;
    }
    const auto own = owner.line();
    ASSERT_TRUE(own);
    EXPECT_TRUE(json::parse(*own).as_object().contains("result")) << *own;
    EXPECT_EQ(traces_in(second), 21);
    EXPECT_EQ(served_by(second), owner.pid()) << "it was continued, not replaced";
    // Somebody who comes while it is stopped.
    stop(owner);
    MemoryProcess third(home.path());
    EXPECT_EQ(served_by(third), owner.pid());
    // One whose client leaves.
    stop(owner);
    second.close_input();
    EXPECT_EQ(second.wait_briefly(), 0);
}

// Control: it is the waiting that wakes it.
TEST(G7Patience, a_stopped_owner_for_whom_nobody_waits_stays_stopped) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, second] = both;
    stop(owner);
    EXPECT_FALSE(second.line_within(std::chrono::milliseconds(2500)));
    EXPECT_EQ(state_of(owner), 'T');
    EXPECT_EQ(served_by(second), owner.pid());
    EXPECT_NE(state_of(owner), 'T');
}

// A debugger's stop is not a stop: whoever looks at it with one decides when it goes on.
TEST(G7Patience, an_owner_that_a_debugger_holds_is_left_alone) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, second] = both;
    ASSERT_EQ(::ptrace(PTRACE_SEIZE, owner.pid(), nullptr, nullptr), 0);
    ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, owner.pid(), nullptr, nullptr), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(owner.pid(), &status, __WALL), owner.pid());
    second.write(turn_line(1));
    EXPECT_FALSE(second.line_within(std::chrono::milliseconds(2500)));
    EXPECT_EQ(state_of(owner), 't');
    ASSERT_EQ(::ptrace(PTRACE_DETACH, owner.pid(), nullptr, nullptr), 0);
    const auto line = second.line();
    ASSERT_TRUE(line);
    EXPECT_TRUE(json::parse(*line).as_object().contains("result")) << *line;
}

TEST(G7Patience, the_keys_that_stop_a_terminals_programs_do_not_stop_it) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, second] = both;
    for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) {
        ::kill(owner.pid(), signal);
        EXPECT_EQ(served_by(owner), owner.pid());
        EXPECT_NE(state_of(owner), 'T');
    }
    EXPECT_EQ(served_by(second), owner.pid());
}

TEST(G7Patience, a_process_whose_owner_cannot_be_reached_answers_health_and_takes_over_when_it_is_gone) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    ASSERT_TRUE(std::filesystem::remove(home.file("memory.sock"))); // as in a container that hides it
    MemoryProcess second(home.path());
    const auto health = second.call("core.health");
    ASSERT_TRUE(health.contains("result"));
    EXPECT_EQ(health.at("result").at("pid"), second.pid());
    EXPECT_EQ(health.at("result").at("phase"), "opening");
    second.write(turn_line(5));
    EXPECT_EQ(served_by(owner), owner.pid()); // nothing has happened to it
    EXPECT_FALSE(second.line_within(std::chrono::milliseconds(200)))
        << "written while another process owns the home";
    owner.close_input();
    EXPECT_EQ(owner.wait(), 0);
    const auto answer = second.line();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(json::parse(*answer).as_object().contains("result")) << *answer;
}

} // namespace
} // namespace holdfast::test
