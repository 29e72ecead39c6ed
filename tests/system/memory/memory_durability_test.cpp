// G10: nothing acknowledged is lost, nothing is stored twice, and one process writes.
#include "support/memory_home.hpp"
#include "support/memory_leftover.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

// The texts of all traces, by asking a fresh process.
std::multiset<std::string> stored(const TempHome& home) {
    MemoryProcess memory(home.path());
    std::multiset<std::string> texts;
    const auto answer = memory.call("memory.timeline", {{"episodeId", "e"}});
    if (answer.contains("result"))
        for (const auto& trace : answer.at("result").at("traces").as_array())
            texts.insert(std::string(trace.at("userText").as_string()));
    memory.close_input();
    EXPECT_EQ(memory.wait(), 0);
    return texts;
}

TEST(G10NothingAcknowledgedIsLost, a_turn_written_right_before_stdin_closes_is_kept) {
    const TempHome home;
    const char* rounds_wanted = std::getenv("HOLDFAST_ROUNDS");
    const int rounds = rounds_wanted != nullptr ? std::atoi(rounds_wanted) : 100;
    {
        MemoryProcess first(home.path());
        prepare(first);
        first.close_input();
        EXPECT_EQ(first.wait(), 0);
    }
    for (int i = 0; i < rounds; ++i) {
        MemoryProcess memory(home.path());
        auto line = turn_line(i);
        if (i % 2 == 0)
            line.pop_back(); // without its newline: the end of input ends it
        memory.write(line);
        memory.close_input();
        ASSERT_EQ(memory.wait(), 0) << i;
    }
    const auto texts = stored(home);
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(rounds));
    for (int i = 0; i < rounds; ++i)
        EXPECT_EQ(texts.count(turn_text(i)), 1U) << i;
}

TEST(G10NothingAcknowledgedIsLost, killed_at_random_every_answered_turn_is_there_and_none_twice) {
    const TempHome home;
    {
        MemoryProcess first(home.path());
        prepare(first);
    }
    std::mt19937 random(7);
    std::set<int> answered;
    int next = 0;
    for (int round = 0; round < 15; ++round) {
        MemoryProcess memory(home.path());
        const int begin = next;
        std::string lines;
        // What got no answer last time is sent again, as a client would.
        for (int i = 0; i < begin; ++i)
            if (!answered.contains(i))
                lines += turn_line(i);
        next += 100;
        for (int i = begin; i < next; ++i)
            lines += turn_line(i);
        memory.write(lines);
        const int wanted = static_cast<int>(random() % 100); // at least 100 were sent
        for (int i = 0; i < wanted; ++i) {
            const auto line = memory.line();
            if (!line)
                break;
            const auto answer = json::parse(*line).as_object();
            ASSERT_TRUE(answer.contains("result")) << *line;
            answered.insert(static_cast<int>(answer.at("id").as_int64()));
        }
        ::kill(memory.pid(), SIGKILL);
        // Answers that were already in the pipe count too: they were given.
        while (const auto line = memory.line()) {
            boost::system::error_code torn;
            const auto answer = json::parse(*line, torn);
            if (!torn && answer.as_object().contains("result"))
                answered.insert(static_cast<int>(answer.at("id").as_int64()));
        }
        EXPECT_EQ(memory.wait(), -SIGKILL);
    }
    const auto texts = stored(home);
    EXPECT_GT(answered.size(), 100U);
    for (const int number : answered)
        EXPECT_EQ(texts.count(turn_text(number)), 1U) << number;
    for (const auto& text : texts)
        EXPECT_EQ(texts.count(text), 1U) << text;
}

TEST(MemoryDeadline, turn_start_is_answered_in_time_while_the_store_is_not_open_and_its_episode_holds) {
    const TempHome home;
    leave_store(home, 1, 4);
    MemoryProcess second(home.path(), {}, {}, -1, on_slow_disk(3000));
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    ASSERT_TRUE(second.call("core.health").at("result").at("phase") != "ready");
    const auto started = second.call("turn.start", {{"agent", "a"},
                                                    {"sessionId", "s2"},
                                                    {"userText", "hello there"},
                                                    {"ts", now},
                                                    {"deadlineAt", now + 200}});
    ASSERT_TRUE(started.contains("result")) << json::serialize(started);
    EXPECT_EQ(started.at("result").at("cut"), true);
    const auto episode = started.at("result").at("query").at("episodeId");
    const auto ended = second.call("turn.end", {{"agent", "a"},
                                                {"sessionId", "s2"},
                                                {"episodeId", episode},
                                                {"agentText", "hi"},
                                                {"toolCalls", json::array()},
                                                {"ts", now + 1}});
    ASSERT_TRUE(ended.contains("result")) << json::serialize(ended);
    // What turn.start said is part of the turn, although turn.end did not repeat it.
    const auto trace = second.call("memory.get_trace", {{"id", ended.at("result").at("traceId")}});
    EXPECT_EQ(trace.at("result").at("userText"), "hello there");
}

TEST(G10NothingAcknowledgedIsLost, terminated_it_commits_what_it_read_and_leaves_in_time) {
    const TempHome home;
    {
        MemoryProcess memory(home.path());
        prepare(memory);
        memory.write(turn_line(1));
        ASSERT_TRUE(memory.line());
        ::kill(memory.pid(), SIGTERM);
        EXPECT_EQ(memory.wait(), 0);
    }
    EXPECT_EQ(stored(home).size(), 1U);
}

TEST(G10NothingAcknowledgedIsLost, a_corrupt_database_is_kept_and_said) {
    const TempHome home;
    {
        MemoryProcess memory(home.path());
        prepare(memory);
        memory.close_input();
        EXPECT_EQ(memory.wait(), 0);
    }
    home.write("data/memory.db", "not a database at all " + std::string(4096, '?'));
    int errors[2];
    ASSERT_EQ(::pipe2(errors, O_CLOEXEC), 0);
    MemoryProcess memory(home.path(), {}, {}, errors[1]);
    prepare(memory);
    const auto health = memory.call("core.health").at("result");
    ASSERT_TRUE(health.as_object().contains("warnings")) << json::serialize(health);
    char said[4096];
    const auto length = ::read(errors[0], said, sizeof said);
    EXPECT_NE(
        std::string_view(said, static_cast<std::size_t>(std::max<ssize_t>(length, 0))).find("is kept as"),
        std::string_view::npos)
        << "whoever started it hears of it";
    ::close(errors[0]);
    ::close(errors[1]);
    const auto kept = std::string(health.at("warnings").at(0).at("keptAs").as_string());
    EXPECT_TRUE(TempHome::read_path(kept).starts_with("not a database at all"));
    memory.close_input();
    EXPECT_EQ(memory.wait(), 0);
    // Later owners say it too, until somebody has taken the file away.
    for (const bool there : {true, false}) {
        MemoryProcess later(home.path());
        (void)later.call("memory.list_traces");
        EXPECT_EQ(health_of(later).contains("warnings"), there);
        std::filesystem::remove(kept);
    }
}

} // namespace
} // namespace holdfast::test
