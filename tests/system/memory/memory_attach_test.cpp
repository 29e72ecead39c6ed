// One owner per home, and everybody served: processes that share a home, and the end of any of them at any
// time.
#include "harness/eventually.hpp"
#include "holdfast/slot.hpp"
#include "support/memory_home.hpp"
#include "support/memory_leftover.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

[[maybe_unused]] long resident_kb(int pid) { // not under a sanitizer
    const auto status = TempHome::read_path("/proc/" + std::to_string(pid) + "/status");
    return std::strtol(status.c_str() + status.find("VmRSS:") + 6, nullptr, 10);
}

TEST(G1OneOwner, further_processes_are_served_by_the_owner) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    MemoryProcess second(home.path(), {"--agent=hermes"});
    MemoryProcess third(home.path());
    EXPECT_EQ(served_by(owner), owner.pid());
    EXPECT_EQ(served_by(second), owner.pid());
    EXPECT_EQ(served_by(third), owner.pid());
    EXPECT_EQ(health_of(second).at("agent"), "hermes"); // its own, although another answers
    EXPECT_EQ(health_of(third).at("agent"), "test");
    const auto stored = second.call("turn.end", turn_params(1));
    ASSERT_TRUE(stored.contains("result")) << json::serialize(stored);
    const auto read = third.call("memory.get_trace", {{"id", stored.at("result").at("traceId")}});
    EXPECT_EQ(read.at("result").at("userText"), "n1");
    EXPECT_TRUE(owner.others.empty() && second.others.empty() &&
                third.others.empty()); // each got its own only
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    EXPECT_LT(resident_kb(second.pid()), 6'000) << "an attached process only waits";
#endif
    const auto seen = query({home.path(), "memory"});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->owner_pid, owner.pid());
    EXPECT_EQ(seen->phase, Phase::ready);
}

TEST(G1OneOwner, when_the_owner_is_killed_an_attached_process_takes_over_and_serves_the_rest) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, second] = both;
    MemoryProcess third(home.path());
    ASSERT_EQ(served_by(third), owner.pid());
    ASSERT_TRUE(owner.call("turn.end", turn_params(1)).contains("result"));
    kill_and_reap(owner);
    const auto now = served_by(second);
    EXPECT_TRUE(now == second.pid() || now == third.pid()) << now;
    EXPECT_EQ(served_by(third), now);
    ASSERT_TRUE(second.call("turn.end", turn_params(2)).contains("result"));
    ASSERT_TRUE(third.call("turn.end", turn_params(3)).contains("result"));
    EXPECT_EQ(traces_in(third), 3);
    EXPECT_TRUE(second.others.empty() && third.others.empty());
}

TEST(MemoryLife, the_owner_ends_with_its_own_client_and_hands_over) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, second] = both;
    owner.write(turn_line(1));
    owner.close_input();
    EXPECT_EQ(owner.wait(), 0);
    EXPECT_TRUE(owner.line()) << "its last turn was answered";
    EXPECT_EQ(served_by(second), second.pid());
    EXPECT_TRUE(second.others.empty()) << "no error, only a pause";
    EXPECT_EQ(traces_in(second), 1);
    second.close_input();
    EXPECT_EQ(second.wait(), 0);
    EXPECT_EQ(query({home.path(), "memory"})->state, SlotState::free);
}

TEST(MemoryLife, an_attached_process_ends_with_its_client_and_keeps_all_it_wrote) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    for (int round = 0; round < 20; ++round) {
        MemoryProcess second(home.path());
        auto line = turn_line(1000 + round);
        if (round % 2 == 1)
            line.pop_back(); // without its newline: the end of input ends it
        second.write(line);
        second.close_input();
        EXPECT_EQ(second.wait(), 0);
        const auto answer = second.line();
        ASSERT_TRUE(answer) << round;
        EXPECT_TRUE(json::parse(*answer).as_object().contains("result")) << *answer;
        EXPECT_FALSE(second.line()); // and the end of its output
    }
    EXPECT_EQ(traces_in(owner), 20);
}

TEST(MemoryLife, an_attached_process_that_is_terminated_or_killed_is_dropped_and_nobody_else_notices) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    for (const int signal : {SIGTERM, SIGINT, SIGKILL}) {
        MemoryProcess second(home.path());
        ASSERT_EQ(served_by(second), owner.pid());
        second.write(turn_line(signal));
        ASSERT_TRUE(second.line());
        ::kill(second.pid(), signal);
        EXPECT_EQ(second.wait(), signal == SIGKILL ? -SIGKILL : 0);
        // The owner lets go of its stdout: whoever reads there sees the end.
        EXPECT_FALSE(second.line(10'000));
        second.write("x"); // and nobody reads its stdin any more: this must not be taken for a request
        EXPECT_EQ(served_by(owner), owner.pid());
    }
    EXPECT_EQ(traces_in(owner), 3);
}

TEST(MemoryLife, a_half_written_line_survives_the_owner) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, second] = both;
    const auto line = turn_line(7);
    second.write(line.substr(0, line.size() / 2));
    // The owner has read it when it has answered a later request of another client, twice around its loop.
    for (int i = 0; i < 5; ++i)
        (void)served_by(owner);
    kill_and_reap(owner);
    second.write(line.substr(line.size() / 2));
    const auto answer = second.line();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(json::parse(*answer).as_object().contains("result")) << *answer;
}

TEST(MemoryLife, a_request_that_died_with_the_owner_is_answered_as_retryable) {
    const TempHome home;
    // It never gets to open its store, so whatever it read is in flight when it dies.
    leave_store(home, 1, 4);
    MemoryProcess owner(home.path(), {}, {}, -1, on_slow_disk(600'000));
    ASSERT_EQ(served_by(owner), owner.pid());
    MemoryProcess second(home.path());
    ASSERT_EQ(served_by(second), owner.pid());
    const std::string long_id(3000, 'i');
    second.write(R"({"jsonrpc":"2.0","id":"a","method":"memory.list_traces"})"
                 "\n");
    second.write(R"({"jsonrpc":"2.0","id":")" + long_id + R"(","method":"memory.list_traces"})" + "\n");
    second.write(R"({"jsonrpc":"2.0","id":77,"method":"memory.list_traces"})"
                 "\n");
    ASSERT_EQ(served_by(second), owner.pid()); // answered after those were read
    kill_and_reap(owner);
    std::set<std::string> lost;
    for (int i = 0; i < 3; ++i) {
        const auto line = second.line();
        ASSERT_TRUE(line);
        const auto answer = json::parse(*line).as_object();
        ASSERT_TRUE(answer.contains("error")) << *line;
        EXPECT_EQ(answer.at("error").at("data").at("code"), "transport_closed");
        EXPECT_EQ(answer.at("error").at("data").at("details").at("retryable"), true);
        lost.insert(json::serialize(answer.at("id")));
    }
    EXPECT_EQ(lost, (std::set<std::string>{"\"a\"", "\"" + long_id + "\"", "77"}));
    EXPECT_EQ(served_by(second), second.pid()); // sent again they are served, and nothing else came
    EXPECT_TRUE(second.others.empty());
}

TEST(MemoryLife, answers_that_a_client_has_not_read_survive_the_owner) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, second] = both;
    // Far more answers than a pipe holds, and nobody reads: they wait in the outbox, one of them half sent.
    constexpr int many = 3000;
    for (int i = 0; i < many; ++i)
        second.write("{\"jsonrpc\":\"2.0\",\"id\":" + std::to_string(100'000 + i) +
                     ",\"method\":\"core.health\"}\n");
    for (int i = 0; i < 5; ++i)
        (void)served_by(owner);
    kill_and_reap(owner);
    std::map<std::int64_t, int> answers;
    for (int i = 0; i < many; ++i) {
        const auto line = second.line();
        ASSERT_TRUE(line) << "after " << i;
        boost::system::error_code torn;
        const auto answer = json::parse(*line, torn);
        ASSERT_FALSE(torn) << "torn: " << *line;
        ++answers[answer.at("id").as_int64()];
    }
    EXPECT_EQ(answers.size(), static_cast<std::size_t>(many)); // each once
    EXPECT_EQ(served_by(second), second.pid());
    EXPECT_TRUE(second.others.empty());
}

TEST(MemoryLife, subscriptions_go_on_with_the_next_owner) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    MemoryProcess second(home.path());
    MemoryProcess third(home.path());
    const auto kept =
        second.call("events.subscribe", {{"types", {"trace.created"}}}).at("result").at("subscriptionId");
    const auto ended = second.call("logs.tail").at("result").at("subscriptionId");
    ASSERT_TRUE(second.call("events.unsubscribe", {{"subscriptionId", ended}}).contains("result"));
    ASSERT_EQ(served_by(third), owner.pid());
    kill_and_reap(owner);
    // A subscription goes on from when its client is served again; what happens before that is nobody's news.
    const auto next = served_by(second);
    EXPECT_TRUE(next == second.pid() || next == third.pid()) << next;
    ASSERT_TRUE(third.call("turn.end", turn_params(1)).contains("result"));
    const auto line = second.line();
    ASSERT_TRUE(line);
    EXPECT_EQ(json::parse(*line).at("method"), "events.notify") << *line;
    EXPECT_TRUE(third.others.empty()) << "it never subscribed";
    EXPECT_TRUE(second.call("events.unsubscribe", {{"subscriptionId", kept}}).contains("result"))
        << "the same id";
    EXPECT_FALSE(second.call("events.unsubscribe", {{"subscriptionId", ended}}).contains("result"));
}

TEST(MemoryLife, each_client_speaks_for_its_own_agent) {
    const TempHome home;
    MemoryProcess owner(home.path(), {"--agent=one"});
    prepare(owner);
    MemoryProcess second(home.path(), {"--agent=two"});
    ASSERT_EQ(served_by(second), owner.pid());
    for (auto* client : {&owner, &second}) {
        const std::string name = client == &owner ? "one" : "two";
        EXPECT_EQ(client->call("memory.search", {{"query", "x"}}).at("result").at("query").at("agent"),
                  json::value(name));
        ASSERT_TRUE(
            client->call("memory.add", {{"text", "a note"}, {"sessionId", "of " + name}}).contains("result"));
        const auto sessions = client->call("memory.sessions", {{"limit", 1}}).at("result").at("sessions");
        EXPECT_EQ(sessions.at(0).at("id"), json::value("of " + name));
        EXPECT_EQ(sessions.at(0).at("agent"), json::value(name));
    }
}

TEST(MemoryLife, subscriptions_are_their_clients_own_and_none_is_promised_that_would_be_lost) {
    const TempHome home;
    OwnerAndSecond both(home);
    auto& [owner, second] = both;
    const auto id =
        second.call("events.subscribe", {{"types", {"trace.created"}}}).at("result").at("subscriptionId");
    EXPECT_EQ(owner.call("events.unsubscribe", {{"subscriptionId", id}}).at("error").at("data").at("code"),
              "not_found");
    std::string last; // the type of the last one that was taken
    for (int i = 0; i < 40; ++i) {
        const auto type = std::to_string(i) + std::string(1000, 't');
        const auto answer = second.call("events.subscribe", {{"types", {type}}});
        if (answer.contains("error")) {
            EXPECT_EQ(answer.at("error").at("code"), -32602);
            break;
        }
        last = type;
    }
    EXPECT_FALSE(last.empty());
    EXPECT_FALSE(last.starts_with("39")) << "all were taken, and 32 KiB are kept";
    const auto heard = [&](int number) -> std::int64_t {
        EXPECT_TRUE(second.call("turn.end", turn_params(number)).contains("result"));
        const auto line = second.line(10'000);
        EXPECT_TRUE(line);
        return line ? json::parse(*line).at("params").at("seq").as_int64() : -1;
    };
    const auto before = heard(1);
    kill_and_reap(owner);
    ASSERT_EQ(served_by(second), second.pid());
    EXPECT_GT(heard(2), before) << "what comes later has the higher number, also from the next owner";
    EXPECT_TRUE(second.others.empty());
}

TEST(MemoryLife, a_client_that_never_reads_and_one_with_an_endless_line_hold_up_nobody) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    MemoryProcess deaf(home.path());
    MemoryProcess endless(home.path());
    ASSERT_EQ(served_by(deaf), owner.pid());
    ASSERT_EQ(served_by(endless), owner.pid());
    std::thread deafening([&] {
        for (int i = 0; i < 20'000; ++i)
            deaf.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"core.health\"}\n");
    });
    std::thread talking([&] {
        const std::string megabyte(1 << 20, 'x');
        for (int i = 0; i < 64; ++i)
            endless.write(megabyte);
        endless.write("\n");
    });
    MemoryProcess good(home.path());
    for (int i = 0; i < 50; ++i)
        ASSERT_TRUE(good.call("turn.end", turn_params(i)).contains("result"));
    talking.join();
    const auto refused = endless.line();
    ASSERT_TRUE(refused);
    EXPECT_EQ(json::parse(*refused).at("error").at("code"), -32600);
    EXPECT_EQ(served_by(endless), owner.pid());
    deafening.join();
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    EXPECT_LT(resident_kb(owner.pid()), 60'000) << "neither costs the owner memory in proportion";
#endif
    kill_and_reap(deaf);
    EXPECT_EQ(traces_in(good), 50);
}

TEST(MemoryLife, a_home_with_a_path_longer_than_a_socket_address_is_shared_too) {
    const TempHome home;
    std::string path = home.path();
    for (int i = 0; i < 4; ++i)
        path += "/" + std::string(60, 'd');
    MemoryProcess owner(path);
    ASSERT_EQ(served_by(owner), owner.pid());
    MemoryProcess second(path);
    EXPECT_EQ(served_by(second), owner.pid());
}

TEST(MemoryLife, a_daemon_stays_until_it_is_asked_or_idle) {
    const TempHome home;
    {
        MemoryProcess daemon(home.path(), {"--daemon", "--runtime-scope=0aF3"});
        ASSERT_EQ(served_by(daemon), daemon.pid());
        daemon.close_input();
        MemoryProcess client(home.path());
        EXPECT_EQ(served_by(client), daemon.pid()) << "it stays after the end of its own input";
        client.close_input();
        EXPECT_EQ(client.wait(), 0);
        MemoryProcess last(home.path());
        EXPECT_EQ(served_by(last), daemon.pid());
        EXPECT_EQ(last.call("core.shutdown").at("result").at("ok"), true);
        EXPECT_EQ(last.wait(), 0);
        EXPECT_EQ(daemon.wait(), 0);
    }
    {
        MemoryProcess daemon(home.path(), {"--daemon", "--idle=300ms"});
        ASSERT_EQ(served_by(daemon), daemon.pid());
        daemon.close_input();
        EXPECT_EQ(daemon.wait(), 0) << "nobody came";
    }
    {
        MemoryProcess daemon(home.path(), {"--daemon"});
        ASSERT_EQ(served_by(daemon), daemon.pid());
        daemon.close_input();
        ::kill(daemon.pid(), SIGTERM);
        EXPECT_EQ(daemon.wait(), 0);
    }
    // Attached, it stays too, and takes over when the owner's client is gone.
    MemoryProcess owner(home.path());
    ASSERT_EQ(served_by(owner), owner.pid());
    MemoryProcess daemon(home.path(), {"--daemon"});
    ASSERT_EQ(served_by(daemon), owner.pid());
    daemon.close_input();
    owner.close_input();
    EXPECT_EQ(owner.wait(), 0);
    // A newcomer might be faster than the one that waits; here the one that waits is meant.
    ASSERT_TRUE(harness::eventually(harness::Deadline::in(std::chrono::seconds(30)), [&] {
        return query({home.path(), "memory"})->owner_pid == daemon.pid();
    }));
    MemoryProcess client(home.path());
    EXPECT_EQ(served_by(client), daemon.pid());
    ::kill(daemon.pid(), SIGTERM);
    EXPECT_EQ(daemon.wait(), 0);
    EXPECT_EQ(served_by(client), client.pid());
}

} // namespace
} // namespace holdfast::test
