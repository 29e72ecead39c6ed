// What the tests say to a memory process: one session "s" with one episode "e", and turns in it by number.
#pragma once

#include "support/memory_home.hpp"
#include "support/memory_process.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {

inline void prepare(MemoryProcess& memory) {
    ASSERT_TRUE(memory.call("session.open", {{"agent", "a"}, {"sessionId", "s"}}).contains("result"));
    ASSERT_TRUE(memory.call("episode.open", {{"sessionId", "s"}, {"episodeId", "e"}}).contains("result"));
}

inline std::string turn_text(int number) {
    std::string text("n"); // not "n" + …: g++ 12 warns of that for no reason
    text += std::to_string(number);
    return text;
}

inline boost::json::object turn_params(int number) {
    return {{"agent", "a"},     {"sessionId", "s"},
            {"episodeId", "e"}, {"userText", turn_text(number)},
            {"agentText", "t"}, {"toolCalls", boost::json::array()},
            {"ts", number}};
}

// Its request has the number for its id.
inline std::string turn_line(int number) {
    return boost::json::serialize(boost::json::object{
               {"jsonrpc", "2.0"}, {"id", number}, {"method", "turn.end"}, {"params", turn_params(number)}}) +
           "\n";
}

inline boost::json::object health_of(MemoryProcess& memory) {
    auto answer = memory.call("core.health");
    return answer.contains("result") ? answer.at("result").as_object() : boost::json::object();
}

// The process that answers.
inline std::int64_t served_by(MemoryProcess& memory) {
    const auto health = health_of(memory);
    return health.contains("pid") ? health.at("pid").as_int64() : 0;
}

// How many there are, once the store is open.
inline std::int64_t traces_in(MemoryProcess& memory) {
    (void)memory.call("memory.list_episodes");
    const auto health = health_of(memory);
    return health.contains("counts") ? health.at("counts").at("traces").as_int64() : -1;
}

// An owner that is prepared, and a second process that it serves.
struct OwnerAndSecond {
    explicit OwnerAndSecond(const TempHome& home)
        : owner(home.path())
        , second((prepare(owner), home.path())) {
        EXPECT_EQ(served_by(second), owner.pid());
    }
    MemoryProcess owner;
    MemoryProcess second;
};

inline void kill_and_reap(MemoryProcess& memory) {
    ::kill(memory.pid(), SIGKILL);
    EXPECT_EQ(memory.wait(), -SIGKILL);
}

} // namespace holdfast::test
