// An owner that was replaced while it stood still, or whose lock was wiped away: it refuses to write, and
// leaves.
#include "holdfast/slot.hpp"
#include "memory/store/store.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

namespace json = boost::json;

void prepare(MemoryProcess& memory) {
    ASSERT_TRUE(memory.call("session.open", {{"agent", "a"}, {"sessionId", "s"}}).contains("result"));
    ASSERT_TRUE(memory.call("episode.open", {{"sessionId", "s"}, {"episodeId", "e"}}).contains("result"));
}

json::object turn(int number) {
    return {{"agent", "a"},     {"sessionId", "s"},
            {"episodeId", "e"}, {"userText", std::to_string(number)},
            {"agentText", "t"}, {"toolCalls", json::array()},
            {"ts", number}};
}

std::string turn_line(int number) {
    return json::serialize(json::object{
               {"jsonrpc", "2.0"}, {"id", number}, {"method", "turn.end"}, {"params", turn(number)}}) +
           "\n";
}

std::int64_t served_by(MemoryProcess& memory) {
    const auto answer = memory.call("core.health");
    return answer.contains("result") ? answer.at("result").at("pid").as_int64() : 0;
}

std::int64_t traces_in(MemoryProcess& memory) {
    const auto listed = memory.call("memory.list_traces", {{"limit", 100}});
    return listed.contains("result")
               ? static_cast<std::int64_t>(listed.at("result").at("traces").as_array().size())
               : -1;
}

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
    ASSERT_TRUE(paused.call("turn.end", turn(1)).contains("result"));
    stop(paused);
    // Its lock goes away with the folder's files, as when a runtime folder is cleaned: another process may
    // start.
    ASSERT_TRUE(std::filesystem::remove(home.file("memory.lock")));
    MemoryProcess successor(home.path());
    ASSERT_TRUE(successor.call("turn.end", turn(2)).contains("result"));
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
    MemoryProcess old_owner(home.path());
    prepare(old_owner);
    MemoryProcess attached(home.path());
    ASSERT_EQ(served_by(attached), old_owner.pid());
    ASSERT_TRUE(old_owner.call("turn.end", turn(1)).contains("result"));
    {
        // What a successor does that our locks could not keep out (on another machine, say): it raises the
        // epoch.
        memory::StoreOptions options;
        options.path = home.file("data/memory.db");
        ASSERT_TRUE(memory::Store::open(options, [](const memory::Progress&) {}));
    }
    const auto refused = old_owner.call("turn.end", turn(2));
    ASSERT_TRUE(refused.contains("error")) << json::serialize(refused);
    EXPECT_EQ(refused.at("error").at("data").at("code"), "transport_closed");
    EXPECT_EQ(refused.at("error").at("data").at("details").at("retryable"), true);
    EXPECT_EQ(old_owner.wait(), 1);
    // Who was attached goes on with a new owner, which has a newer epoch yet.
    EXPECT_EQ(served_by(attached), attached.pid());
    EXPECT_TRUE(attached.call("turn.end", turn(3)).contains("result"));
    EXPECT_EQ(traces_in(attached), 2);
}

TEST(G1OneOwner, an_owner_whose_lock_was_wiped_away_leaves_and_its_clients_go_on) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    MemoryProcess attached(home.path());
    ASSERT_EQ(served_by(attached), owner.pid());
    ASSERT_TRUE(std::filesystem::remove(home.file("memory.lock")));
    EXPECT_EQ(owner.wait(), 1) << "nobody told it but the kernel";
    EXPECT_EQ(served_by(attached), attached.pid());
    EXPECT_TRUE(attached.call("turn.end", turn(1)).contains("result"));
    EXPECT_TRUE(attached.others.empty()) << "no error, only a pause";
    // Negative control: touching other files of the home does not move the owner.
    home.write("memory.json.tmp", "noise");
    std::filesystem::permissions(home.file("memory.lock"),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_EQ(served_by(attached), attached.pid());
}

TEST(G7Patience, a_process_whose_owner_stands_still_answers_health_and_takes_over_when_it_is_gone) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    stop(owner);
    MemoryProcess second(home.path()); // the owner does not take its offer
    const auto health = second.call("core.health");
    ASSERT_TRUE(health.contains("result"));
    EXPECT_EQ(health.at("result").at("pid"), second.pid());
    EXPECT_EQ(health.at("result").at("phase"), "opening");
    second.write(turn_line(5));
    ::kill(owner.pid(), SIGCONT);
    EXPECT_EQ(served_by(owner), owner.pid()); // nothing has happened to it
    EXPECT_FALSE(second.line(200)) << "written while another process owns the home";
    owner.close_input();
    EXPECT_EQ(owner.wait(), 0);
    const auto answer = second.line();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(json::parse(*answer).as_object().contains("result")) << *answer;
}

} // namespace
} // namespace holdfast::test
