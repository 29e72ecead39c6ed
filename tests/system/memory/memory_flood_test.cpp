// Clients that ask for much, in odd ways and all at once: nobody else waits for them, deadlines hold, and no
// answer is lost with an owner.
#include "support/memory_home.hpp"
#include "support/memory_leftover.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

#include <sys/ioctl.h>

#include <map>
#include <set>
#include <sstream>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

std::string line_of(const std::string& id, const std::string& method, const json::object& params = {}) {
    return json::serialize(
               json::object{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}) +
           "\n";
}

std::int64_t wall_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// An owner that never gets to open its store, so that what it read stays in flight, and a second process.
struct NeverOpen {
    explicit NeverOpen(const TempHome& home)
        : owner((leave_store(home, 1, 4), home.path()), {}, {}, -1, on_slow_disk(600'000))
        , second((served_by(owner), home.path())) {
        EXPECT_EQ(served_by(second), owner.pid());
    }
    MemoryProcess owner;
    MemoryProcess second;
};

// Ids of more than 48 bytes take more than one place in the books, and there are 65,536 places.
TEST(MemoryFlood, long_ids_are_known_to_the_next_owner_however_many_there_were) {
    const TempHome home;
    NeverOpen both(home);
    auto& [owner, second] = both;
    const std::string prefix(60, 'i');
    for (int i = 0; i < 40'000; i += 200) {
        std::string lines;
        for (int k = i; k < i + 200; ++k)
            lines += line_of(prefix + std::to_string(k), "core.init");
        second.write(lines);
        for (int k = 0; k < 200; ++k)
            ASSERT_TRUE(second.line());
    }
    std::set<std::string> asked;
    for (int i = 0; i < 50; ++i) {
        asked.insert(prefix + "in flight " + std::to_string(i));
        second.write(
            line_of(prefix + "in flight " + std::to_string(i), "memory.get_policy", {{"id", "none"}}));
    }
    ASSERT_EQ(served_by(second), owner.pid()); // answered after those were read
    kill_and_reap(owner);
    std::set<std::string> lost;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto line = second.line(10'000);
        ASSERT_TRUE(line) << "after " << i;
        const auto answer = json::parse(*line);
        EXPECT_EQ(answer.at("error").at("data").at("code"), "transport_closed") << *line;
        EXPECT_TRUE(lost.insert(std::string(answer.at("id").as_string())).second) << "twice: " << *line;
    }
    EXPECT_EQ(lost, asked);
    EXPECT_EQ(served_by(second), second.pid());
    EXPECT_TRUE(second.others.empty());
}

// More long ids at once than the books have room for: the rest waits in the pipe, and each is answered.
TEST(MemoryFlood, requests_wait_when_the_books_are_full) {
    const TempHome home;
    NeverOpen both(home);
    auto& [owner, second] = both;
    const std::string prefix(4000, 'i');
    constexpr int many = 1500;
    std::thread sender([&] {
        for (int i = 0; i < many; ++i)
            second.write(line_of(prefix + std::to_string(i), "memory.get_policy", {{"id", "none"}}));
    });
    EXPECT_FALSE(second.line_within(std::chrono::milliseconds(300))) << "nothing of it can be answered yet";
    EXPECT_EQ(served_by(owner), owner.pid());
    kill_and_reap(owner);
    std::map<std::string, int> answers;
    for (int i = 0; i < many; ++i) {
        const auto line = second.line();
        if (!line)
            break;
        ++answers[std::string(json::parse(*line).at("id").as_string())];
    }
    sender.join();
    EXPECT_EQ(answers.size(), static_cast<std::size_t>(many)) << "each once";
    EXPECT_EQ(served_by(second), second.pid());
    EXPECT_TRUE(second.others.empty());
}

TEST(MemoryFlood, an_id_of_more_than_four_kilobytes_is_refused_and_no_answer_is_lost_at_the_end) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    for (const bool attached : {true, false}) {
        std::optional<MemoryProcess> second;
        if (attached) {
            second.emplace(home.path());
            ASSERT_EQ(served_by(*second), owner.pid());
        }
        auto& client = attached ? *second : owner;
        const std::string longest(4094, 'i'); // and its quotes
        client.write(line_of(longest, "memory.search", {{"query", "x"}}) +
                     line_of(longest + "i", "memory.search", {{"query", "x"}}) +
                     line_of(std::string(1000, '\1'), "memory.search", {{"query", "x"}}));
        client.close_input();
        std::map<std::string, bool> served;
        for (int i = 0; i < 3; ++i) {
            const auto line = client.line();
            ASSERT_TRUE(line) << i;
            const auto answer = json::parse(*line).as_object();
            served[std::string(answer.at("id").as_string())] = answer.contains("result");
            if (answer.contains("error")) {
                EXPECT_EQ(answer.at("error").at("code"), -32600) << *line;
            }
        }
        EXPECT_EQ(served, (std::map<std::string, bool>{
                              {longest, true}, {longest + "i", false}, {std::string(1000, '\1'), false}}));
        EXPECT_EQ(client.wait(), 0);
    }
}

// Both find the owner at one instant: it is stopped until each has written. Whether the other one was
// answered in the first quarter of the time that it takes until the last of the busy one's lines is.
bool answered_first(MemoryProcess& owner, const std::string& lines, MemoryProcess& other) {
    using Clock = std::chrono::steady_clock;
    ::kill(owner.pid(), SIGSTOP);
    int status = 0;
    ::waitpid(owner.pid(), &status, WUNTRACED);
    owner.write(lines + line_of("last", "core.init")); // what a pipe holds
    other.write(line_of("other", "core.health"));
    const auto begun = Clock::now();
    ::kill(owner.pid(), SIGCONT);
    const auto answer = other.line();
    const auto answered = Clock::now() - begun;
    EXPECT_TRUE(answer && answer->find("\"other\"") != answer->npos);
    while (const auto line = owner.line())
        if (line->find("\"last\"") != line->npos)
            return answered * 4 < Clock::now() - begun;
    ADD_FAILURE() << "the last line was not answered";
    return false;
}

// The machine may have been busy with others in that instant: once in three is enough, and never is not.
bool has_its_turn(MemoryProcess& owner, const std::string& before, const std::string& lines,
                  MemoryProcess& other) {
    for (int i = 0; i < 3; ++i) {
        owner.write(before);
        int unread = 1;
        while (::ioctl(owner.in_fd(), FIONREAD, &unread) == 0 && unread > 0)
            (void)served_by(other);
        if (answered_first(owner, lines, other))
            return true;
    }
    return false;
}

TEST(MemoryFlood, clients_that_flood_leave_others_their_turn) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    MemoryProcess other(home.path());
    ASSERT_EQ(served_by(other), owner.pid());
    std::string garbage;
    for (int i = 0; i < 32'000; ++i)
        garbage += "x\n";
    EXPECT_TRUE(has_its_turn(owner, "", garbage, other));
    // What wants no answer is no reason either.
    std::string text;
    while (text.size() < (std::size_t{4} << 20))
        text += "the quick brown fox says hello to password managers ";
    const auto note = json::serialize(
        json::object{{"jsonrpc", "2.0"}, {"method", "memory.add"}, {"params", {{"text", text}, {"ts", 7}}}});
    EXPECT_TRUE(has_its_turn(owner, note, "\n", other));
    ASSERT_TRUE(owner.call("session.close", {{"sessionId", "s"}}).contains("result")); // committed behind it
    EXPECT_EQ(traces_in(other), 1);
}

// A turn that is asked for behind a long change is answered before it, by its own deadline.
TEST(MemoryFlood, turn_start_keeps_its_deadline_while_the_store_is_busy) {
    const TempHome home;
    MemoryProcess memory(home.path());
    prepare(memory);
    json::array records;
    std::string text;
    while (text.size() < 1500)
        text += "the quick brown fox says hello to password managers ";
    for (int i = 0; i < 5000; ++i)
        records.push_back({{"id", "tr_" + std::to_string(i)}, {"ts", i}, {"userText", text}});
    memory.write(line_of("long", "transfer.import", {{"records", std::move(records)}}));
    memory.write(line_of("turn", "turn.start",
                         {{"agent", "a"},
                          {"sessionId", "new"},
                          {"userText", "where is it"},
                          {"ts", 1},
                          {"deadlineAt", wall_ms() + 40}}));
    const auto first = memory.line();
    ASSERT_TRUE(first);
    const auto turn = json::parse(*first);
    ASSERT_EQ(turn.at("id"), "turn") << first->substr(0, 300);
    const auto second = memory.line();
    ASSERT_TRUE(second);
    EXPECT_EQ(json::parse(*second).at("id"), "long");
    // The episode that was told is the one that there is.
    const auto& episode = turn.at("result").at("query").at("episodeId");
    const auto ended = memory.call("turn.end", {{"agent", "a"},
                                                {"sessionId", "new"},
                                                {"episodeId", episode},
                                                {"agentText", "there"},
                                                {"toolCalls", json::array()},
                                                {"ts", 2}});
    ASSERT_TRUE(ended.contains("result")) << json::serialize(ended);
    EXPECT_EQ(memory.call("memory.get_trace", {{"id", ended.at("result").at("traceId")}})
                  .at("result")
                  .at("userText"),
              "where is it");
}

// Processor time of a process.
long ticks_of(int pid) {
    const auto stat = TempHome::read_path("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i)
        fields >> skipped;
    long user = 0;
    long kernel = 0;
    fields >> user >> kernel;
    return user + kernel;
}

// Further away than a clock of nanoseconds counts.
TEST(MemoryFlood, a_deadline_that_never_comes_costs_nothing_while_the_store_is_opened) {
    const TempHome home;
    NeverOpen both(home);
    const auto begin = [](MemoryProcess& memory, const std::string& id, std::int64_t deadline) {
        memory.write(line_of(
            id, "turn.start",
            {{"agent", "a"}, {"sessionId", "s"}, {"userText", "q"}, {"ts", 1}, {"deadlineAt", deadline}}));
    };
    begin(both.second, "far", 8'000'000'000'000'000);
    ASSERT_EQ(served_by(both.second), both.owner.pid()); // it was read
    const auto before = ticks_of(both.owner.pid());
    std::this_thread::sleep_for(std::chrono::milliseconds(500)); // what it does meanwhile is what is tested
    EXPECT_LT(ticks_of(both.owner.pid()) - before, ::sysconf(_SC_CLK_TCK) / 20);
    begin(both.second, "near", wall_ms() + 50);
    const auto line = both.second.line();
    ASSERT_TRUE(line);
    EXPECT_EQ(json::parse(*line).at("id"), "near");
    EXPECT_EQ(json::parse(*line).at("result").at("cut"), true);
}

} // namespace
} // namespace holdfast::test
