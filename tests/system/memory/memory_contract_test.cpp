// The contract over real stdio: every method, every error, as a table; then framing and concurrency.
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

#include <array>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

struct Step {
    const char* method;
    const char* params;
    int error; // 0: a result is expected
    const char*
        expect; // a data.code for an error; otherwise JSON pointers that must be there, blank separated
};

// In order: later steps use what earlier ones stored. $T is the trace that the first turn.end made.
constexpr Step steps[] = {
    {"core.health", "{}", 0,
     "/ok /version /uptimeMs /agent /paths/home /paths/config /paths/db /paths/skills /paths/logs /phase "
     "/llm/available /llm/provider /llm/model /llm/lastOkAt /llm/lastError /embedder/available"},
    {"core.init", "{}", 0, "/ok"},
    {"session.open", R"({})", -32602, "invalid_argument"},
    {"session.open", R"({"agent":7})", -32602, "invalid_argument"},
    {"session.open", R"({"agent":"a"})", 0, "/sessionId"},
    {"session.open", R"({"agent":"a","sessionId":"s1","meta":{"k":1},"namespace":{"p":"x"}})", 0,
     "/sessionId"},
    {"session.open", R"({"agent":"a","sessionId":"s1"})", 0, "/sessionId"},
    {"episode.open", R"({"sessionId":"nobody"})", -32000, "session_not_found"},
    {"episode.open", R"({})", -32602, "invalid_argument"},
    {"episode.open", R"({"sessionId":"s1","episodeId":"e1","userMessage":"hi"})", 0, "/episodeId"},
    {"turn.start", R"({"agent":"a","sessionId":"s1","ts":1})", -32602, "invalid_argument"},
    {"turn.start", R"({"agent":"a","sessionId":"s1","userText":"x","ts":"now"})", -32602, "invalid_argument"},
    {"turn.start", R"({"agent":"a","sessionId":"s1","userText":"x","ts":1,"episodeId":"none"})", -32000,
     "episode_not_found"},
    {"turn.start",
     R"({"agent":"a","sessionId":"s1","userText":"the kettle?","ts":1700000000000,"contextHints":{}})", 0,
     "/query/agent /query/sessionId /query/episodeId /query/query /hits /injectedContext "
     "/tierLatencyMs/tier2"},
    {"turn.end", R"({"agent":"a","sessionId":"s1","episodeId":"e1","agentText":"x","ts":1})", -32602,
     "invalid_argument"},
    {"turn.end", R"({"agent":"a","sessionId":"s1","episodeId":"e1","agentText":"x","toolCalls":{},"ts":1})",
     -32602, "invalid_argument"},
    {"turn.end", R"({"agent":"a","sessionId":"s1","episodeId":"none","agentText":"x","toolCalls":[],"ts":1})",
     -32000, "episode_not_found"},
    {"turn.end", R"({"agent":"a","sessionId":"none","episodeId":"e1","agentText":"x","toolCalls":[],"ts":1})",
     -32000, "session_not_found"},
    {"turn.end",
     R"({"agent":"a","sessionId":"s1","episodeId":"e1","userText":"where is the kettle","agentText":"on the stove",
         "toolCalls":[{"name":"look","input":{"room":"kitchen"},"output":"seen","startedAt":1,"endedAt":2}],
         "ts":1700000000000,"agentThinking":"hm","reflection":"good","contextHints":{}})",
     0, "/traceId /episodeId"},
    {"feedback.submit", R"({"traceId":"$T","channel":"loud","polarity":"positive","magnitude":1})", -32602,
     "invalid_argument"},
    {"feedback.submit", R"({"traceId":"$T","channel":"explicit","polarity":"positive","magnitude":2})",
     -32602, "invalid_argument"},
    {"feedback.submit", R"({"traceId":"$T","channel":"explicit","polarity":"positive","magnitude":null})",
     -32602, "invalid_argument"},
    {"feedback.submit", R"({"traceId":"none","channel":"explicit","polarity":"positive","magnitude":1})",
     -32000, "trace_not_found"},
    {"feedback.submit", R"({"episodeId":"none","channel":"explicit","polarity":"neutral","magnitude":0})",
     -32000, "episode_not_found"},
    {"feedback.submit",
     R"({"traceId":"$T","channel":"explicit","polarity":"positive","magnitude":0.5,"rationale":"r","raw":{"a":1}})",
     0, "/id /ts /traceId /episodeId /channel /polarity /magnitude /rationale /raw/a"},
    {"memory.search", R"({})", -32602, "invalid_argument"},
    {"memory.search", R"({"query":"kettle","sessionId":"none"})", -32000, "session_not_found"},
    {"memory.search", R"({"query":"kettle","filters":[]})", -32602, "invalid_argument"},
    {"memory.search", R"({"query":"kettles","topK":3,"sessionId":"s1"})", 0,
     "/query/query /hits/0/tier /hits/0/refId /hits/0/refKind /hits/0/score /hits/0/snippet "
     "/hits/0/sourceTraceId "
     "/injectedContext /tierLatencyMs"},
    {"retrieval.query", R"({"query":"kettle","agent":"a"})", 0, "/hits/0/refId"},
    {"memory.get_trace", R"({"id":"$T"})", 0,
     "/id /episodeId /sessionId /ts /userText /agentText /summary /tags /toolCalls/0/name /agentThinking "
     "/reflection "
     "/value /priority /turnId /feedback/0/id"},
    {"memory.get_trace", R"({"id":"none"})", 0, ""},
    {"memory.get_policy", R"({"id":"none"})", 0, ""},
    {"memory.get_world", R"({"id":"none"})", 0, ""},
    {"memory.get_world", R"({})", -32602, "invalid_argument"},
    {"memory.timeline", R"({"episodeId":"e1"})", 0, "/traces/0/id"},
    {"memory.timeline", R"({"episodeId":"none"})", -32000, "episode_not_found"},
    {"memory.list_episodes", R"({"sessionId":"s1"})", 0, "/episodeIds/0"},
    {"memory.list_episodes", R"({"q":"stove"})", 0, "/episodeIds/0"},
    {"memory.list_traces", R"({"limit":1,"offset":0,"q":"kett"})", 0, "/traces/0/id"},
    {"memory.list_traces", R"({"limit":-1})", -32602, "invalid_argument"},
    {"world.add", R"({"id":"wm_1","title":"House","body":"has a stove"})", 0, "/id"},
    {"memory.list_world_models", R"({"limit":5,"offset":0,"q":"stove"})", 0, "/worldModels/0/id"},
    {"memory.get_world", R"({"id":"wm_1"})", 0, "/id /title /body /status"},
    {"world.archive", R"({"id":"none"})", -32000, "world_model_not_found"},
    {"policy.add", R"({"id":"po_1","title":"Tea","body":"boil first"})", 0, "/id"},
    {"memory.get_policy", R"({"id":"po_1"})", 0, "/id /procedure"},
    {"policy.archive", R"({"id":"none"})", -32000, "policy_not_found"},
    {"skill.add", R"({"id":"sk_1","title":"brew","body":"steps"})", 0, "/id"},
    {"skill.list", R"({"status":"active","limit":5})", 0, "/skills/0/id"},
    {"skill.get", R"({"id":"sk_1","recordTrial":true})", 0, "/id /name /invocationGuide /trialsAttempted"},
    {"skill.get", R"({"id":"none"})", 0, ""},
    {"skill.archive", R"({"id":"sk_1","reason":"old"})", 0, "/ok"},
    {"skill.archive", R"({"id":"none"})", -32000, "skill_not_found"},
    {"subagent.record", R"({"sessionId":"s1"})", -32602, "invalid_argument"},
    {"subagent.record", R"({"sessionId":"none","task":"t","result":"r"})", -32000, "session_not_found"},
    {"subagent.record",
     R"({"sessionId":"s1","task":"count","result":"3","childSessionId":"c","toolCalls":[],"outcome":"ok","ts":5,"meta":{}})",
     0, "/traceId /episodeId"},
    {"events.subscribe", R"({"types":["trace.created"]})", 0, "/subscriptionId"},
    {"events.subscribe", R"({"types":"all"})", -32602, "invalid_argument"},
    {"events.unsubscribe", R"({"subscriptionId":"none"})", -32000, "not_found"},
    {"logs.tail", R"({})", 0, "/subscriptionId"},
    {"memory.forget", R"({"id":"none"})", -32000, "trace_not_found"},
    {"memory.forget", R"({"id":"$T"})", 0, "/ok"},
    {"episode.close", R"({"episodeId":"none"})", -32000, "episode_not_found"},
    {"episode.close", R"({"episodeId":"e1"})", 0, "/ok"},
    {"session.close", R"({"sessionId":"none"})", -32000, "session_not_found"},
    {"session.close", R"({"sessionId":"s1"})", 0, "/ok"},
    {"session.destroy", "{}", -32601, "unknown_method"},
};

// A host that wants world models alone says so, and gets them however many traces fit better.
TEST(MemoryContract, top_k_is_kept_for_each_tier) {
    const TempHome home;
    MemoryProcess memory(home.path());
    for (int i = 0; i < 12; ++i) {
        const auto number = std::to_string(i);
        memory.call("session.open", {{"agent", "a"}, {"sessionId", "s" + number}});
        memory.call("episode.open", {{"sessionId", "s" + number}, {"episodeId", "e" + number}});
        memory.call("turn.end", {{"agent", "a"},
                                 {"sessionId", "s" + number},
                                 {"episodeId", "e" + number},
                                 {"userText", "stove question " + number},
                                 {"agentText", "stove"},
                                 {"toolCalls", json::array()},
                                 {"ts", 1700000000000 + i}});
    }
    memory.call("world.add", {{"id", "wm_1"}, {"title", "House"}, {"body", "the kitchen has a stove"}});
    memory.call("policy.add", {{"id", "po_1"}, {"title", "Stove"}, {"body", "light it from the side"}});
    memory.call("skill.add", {{"id", "sk_1"}, {"title", "Stove cleaning"}, {"body", "with sand"}});
    const auto found = [&](const json::value& top_k) {
        const auto answer = memory.call("memory.search", {{"query", "stove"}, {"topK", top_k}});
        std::array<int, 4> tiers{};
        for (const auto& hit : answer.at("result").at("hits").as_array())
            ++tiers.at(static_cast<std::size_t>(hit.at("tier").as_int64()));
        return tiers;
    };
    using Tiers = std::array<int, 4>;
    EXPECT_EQ(found({{"tier1", 0}, {"tier2", 0}, {"tier3", 5}}), (Tiers{0, 0, 0, 1}));
    EXPECT_EQ(found({{"tier1", 2}, {"tier2", 4}, {"tier3", 0}}), (Tiers{0, 1, 4, 0}));
    EXPECT_EQ(found({{"tier1", 0}, {"tier2", 0}, {"tier3", 0}}), (Tiers{0, 0, 0, 0}));
    EXPECT_EQ(found(10), (Tiers{0, 1, 8, 1}));
}

TEST(MemoryContract, every_method_and_every_error) {
    const TempHome home;
    MemoryProcess memory(home.path());
    std::string trace = "none";
    for (const auto& step : steps) {
        std::string params = step.params;
        if (const auto at = params.find("$T"); at != params.npos)
            params.replace(at, 2, trace);
        const auto where = std::string(step.method) + " " + params;
        const auto answer = memory.call(step.method, json::parse(params).as_object());
        ASSERT_TRUE(answer.contains("jsonrpc")) << where << ": no answer";
        const auto shown = json::serialize(answer);
        if (step.error != 0) {
            ASSERT_TRUE(answer.contains("error")) << where << ": " << shown;
            const auto& error = answer.at("error").as_object();
            EXPECT_EQ(error.at("code"), step.error) << where << ": " << shown;
            EXPECT_EQ(error.at("data").at("code"), step.expect) << where << ": " << shown;
            EXPECT_EQ(error.at("data").at("message"), error.at("message")) << where;
            EXPECT_TRUE(error.at("data").as_object().contains("name")) << where;
            continue;
        }
        ASSERT_TRUE(answer.contains("result")) << where << ": " << shown;
        const auto& result = answer.at("result");
        std::string_view expected = step.expect;
        if (expected.empty()) {
            EXPECT_TRUE(result.is_null()) << where << ": " << shown;
        }
        while (!expected.empty()) {
            const auto end = std::min(expected.find(' '), expected.size());
            boost::system::error_code missing;
            (void)result.find_pointer(expected.substr(0, end), missing);
            EXPECT_FALSE(missing) << where << ": no " << expected.substr(0, end) << " in " << shown;
            expected.remove_prefix(std::min(end + 1, expected.size()));
        }
        if (std::string_view(step.method) == "turn.end")
            trace = std::string(result.at("traceId").as_string());
    }
    EXPECT_EQ(memory.call("core.shutdown").at("result").at("ok"), true);
    EXPECT_EQ(memory.wait(), 0);
}

struct Line {
    std::string text;
    int code; // 0: nothing is answered
};

TEST(MemoryContract, lines_that_are_no_requests_get_an_error_and_change_nothing) {
    const TempHome home;
    MemoryProcess memory(home.path());
    const Line lines[] = {{"", 0},
                          {"   ", 0},
                          {"null", -32600},
                          {"[]", -32600},
                          {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"core.health\"}]", -32600},
                          {"\"text\"", -32600},
                          {"42", -32600},
                          {"garbage {", -32700},
                          {"{\"jsonrpc\":\"2.0\",\"id\":1", -32700},
                          {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700},
                          {"{}", -32600},
                          {"{\"jsonrpc\":\"2.0\",\"id\":1}", -32600},
                          {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"core.health\"}", -32600},
                          {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"core.health\"}", -32600},
                          {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", -32600},
                          {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"core.health\",\"params\":[]}", -32602},
                          {"{\"jsonrpc\":\"2.0\",\"method\":\"no.such\"}", 0}, // a notification
                          {"{\"jsonrpc\":\"2.0\",\"id\":\"srv-1\",\"result\":{}}", 0}};
    for (const auto& line : lines) {
        memory.write(line.text + "\n");
        if (line.code == 0)
            continue;
        const auto answer = memory.line();
        ASSERT_TRUE(answer) << line.text;
        EXPECT_EQ(json::parse(*answer).at("error").at("code"), line.code) << line.text << " -> " << *answer;
    }
    // Nothing of the silent ones was answered: the next line out is the next answer.
    EXPECT_TRUE(memory.call("core.health").at("result").at("ok").as_bool());
    EXPECT_TRUE(memory.others.empty());
}

// What Python's json.dumps makes of a file name that is not UTF-8, and JavaScript of half an emoji.
TEST(MemoryContract, halves_of_characters_are_stored_as_replacements_and_their_request_is_answered) {
    const TempHome home;
    MemoryProcess memory(home.path());
    memory.write("{\"jsonrpc\":\"2.0\",\"id\":\"half\",\"method\":\"memory.add\",\"params\":{\"text\":"
                 "\"caf\\udce9 \\ud83d\\ude00 \\ud83d!\",\"ts\":7}}\n");
    const auto line = memory.line();
    ASSERT_TRUE(line);
    const auto answer = json::parse(*line);
    ASSERT_EQ(answer.at("id"), "half") << *line;
    const auto trace =
        memory.call("memory.get_trace", {{"id", answer.at("result").at("traceId")}}).at("result");
    EXPECT_EQ(trace.at("userText"), "caf\xef\xbf\xbd \xf0\x9f\x98\x80 \xef\xbf\xbd!");
    MemoryProcess host(home.path(), {"--mcp"});
    host.write("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":{\"x\":\"\\udce9\"}}\n");
    const auto pong = host.line();
    ASSERT_TRUE(pong);
    EXPECT_EQ(json::parse(*pong).at("id"), 4) << *pong;
}

TEST(MemoryContract, what_was_sent_comes_back_as_what_it_was) {
    const TempHome home;
    MemoryProcess memory(home.path());
    (void)memory.call("session.open", {{"agent", "a"}, {"sessionId", "s"}});
    (void)memory.call("episode.open", {{"sessionId", "s"}, {"episodeId", "e"}});
    const json::object turn{{"agent", "a"},     {"sessionId", "s"}, {"episodeId", "e"},
                            {"agentText", "t"}, {"ts", 5},          {"toolCalls", json::array()}};
    for (const json::value& reflection :
         {json::value("words"), json::value{{"text", "words"}, {"score", 0.5}}, json::value("{not json")}) {
        auto params = turn;
        params["reflection"] = reflection;
        params["userText"] = json::serialize(reflection);
        const auto done = memory.call("turn.end", params);
        const auto trace =
            memory.call("memory.get_trace", {{"id", done.at("result").at("traceId")}}).at("result");
        EXPECT_EQ(trace.at("reflection"), reflection) << json::serialize(trace);
        EXPECT_EQ(trace.at("turnId"), 5);
    }
    int number = 0;
    for (const json::value& turn_id : {json::value(77), json::value("q7"), json::value("007")}) {
        const auto id = "tr_" + std::to_string(++number);
        (void)memory.call("transfer.import",
                          {{"records", {{{"id", id}, {"ts", 6}, {"text", "x"}, {"turnId", turn_id}}}}});
        EXPECT_EQ(memory.call("memory.get_trace", {{"id", id}}).at("result").at("turnId"), turn_id);
        (void)memory.call("memory.forget", {{"id", id}});
    }
    for (const char* blank : {"", "   ", " \n\t "})
        EXPECT_EQ(memory.call("memory.add", {{"text", blank}}).at("error").at("code"), -32602);
}

// Fifteen megabytes in which secrets are looked for take a second or two; under a sanitizer a tenth of it
// does.
std::string long_text() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr std::size_t size = std::size_t{3} << 19;
#else
    constexpr std::size_t size = std::size_t{15} << 20;
#endif
    std::string text;
    while (text.size() < size)
        text += "the quick brown fox says hello to password managers ";
    return text;
}

std::string request(const std::string& id, const std::string& method, const json::object& params) {
    return json::serialize(
               json::object{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}) +
           "\n";
}

TEST(MemoryContract, a_long_line_of_one_client_does_not_hold_up_another) {
    const TempHome home;
    MemoryProcess owner(home.path());
    ASSERT_EQ(served_by(owner), owner.pid());
    MemoryProcess other(home.path());
    ASSERT_EQ(served_by(other), owner.pid());
    owner.write(request("long", "memory.add", {{"text", long_text()}}));
    const auto end = std::chrono::steady_clock::now() + patient(std::chrono::seconds(60));
    int answered = 0; // of the other's questions, while the long one is being worked on
    std::optional<std::string> line;
    while (!(line = owner.line_within(std::chrono::milliseconds(3))) &&
           std::chrono::steady_clock::now() < end) {
        ASSERT_TRUE(other.call("core.health").contains("result"));
        ++answered;
    }
    ASSERT_TRUE(line);
    EXPECT_TRUE(json::parse(*line).as_object().contains("result")) << line->substr(0, 300);
    EXPECT_GT(answered, 3) << "the first of them waited for its end";
}

TEST(MemoryContract, what_follows_a_long_line_takes_effect_after_it) {
    const TempHome home;
    for (const bool at_end : {false, true}) { // the input ends in between, or it does not
        MemoryProcess memory(home.path());
        const std::string session = at_end ? "s2" : "s1";
        const std::string episode = "e" + session;
        memory.write(request("1", "session.open",
                             {{"agent", "a"}, {"sessionId", session}, {"meta", {{"much", long_text()}}}}) +
                     request("2", "episode.open", {{"sessionId", session}, {"episodeId", episode}}) +
                     request("3", "turn.end",
                             {{"agent", "a"},
                              {"sessionId", session},
                              {"episodeId", episode},
                              {"userText", long_text()},
                              {"agentText", "t"},
                              {"toolCalls", json::array()},
                              {"ts", 1}}) +
                     request("4", "episode.close", {{"episodeId", episode}}));
        if (at_end)
            memory.close_input();
        for (int i = 0; i < 4; ++i) {
            const auto line = memory.line();
            ASSERT_TRUE(line) << i;
            EXPECT_TRUE(json::parse(*line).as_object().contains("result")) << line->substr(0, 300);
        }
        memory.close_input();
        EXPECT_EQ(memory.wait(), 0);
    }
}

TEST(MemoryContract, the_limit_of_a_line_is_as_each_process_says) {
    const TempHome home;
    MemoryProcess owner(home.path(), {"--max-line=8K"});
    ASSERT_EQ(served_by(owner), owner.pid());
    MemoryProcess wide(home.path(), {}, {"HOLDFAST_MEMORY_MAX_LINE=20M"});
    ASSERT_EQ(served_by(wide), owner.pid());
    // The line is what is long: nothing of it has to be stored, which would take most of the time.
    const auto ask = [](MemoryProcess& memory, std::size_t size) {
        memory.write("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"core.health\",\"params\":{\"pad\":\"" +
                     std::string(size, 'x') + "\"}}\n");
        const auto line = memory.line();
        return line ? json::parse(*line).as_object() : json::object();
    };
    EXPECT_TRUE(ask(owner, 7'000).contains("result"));
    const auto refused = ask(owner, 9'000);
    ASSERT_TRUE(refused.contains("error"));
    EXPECT_NE(std::string(refused.at("error").at("message").as_string()).find("8192"), std::string::npos);
    EXPECT_TRUE(ask(wide, 17U << 20).contains("result")) << "over the limit that there is without the word";
    EXPECT_TRUE(ask(wide, 21U << 20).contains("error"));
    // The next owner keeps to it, too.
    owner.close_input();
    EXPECT_EQ(owner.wait(), 0);
    EXPECT_TRUE(ask(wide, 17U << 20).contains("result"));
    for (const char* bad : {"--max-line=1K", "--max-line=32M", "--max-line=many", "--max-line="}) {
        MemoryProcess wrong(home.path(), {bad});
        EXPECT_EQ(wrong.wait(), 64) << bad;
    }
}

TEST(MemoryContract, a_line_over_the_limit_is_refused_skipped_and_cheap) {
    const TempHome home;
    MemoryProcess memory(home.path());
    (void)memory.call("core.health");
    const std::string megabyte(1 << 20, 'x');
    memory.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    for (int i = 0; i < 64; ++i)
        memory.write(megabyte);
    memory.write("\"}\n");
    const auto refused = memory.line();
    ASSERT_TRUE(refused);
    EXPECT_EQ(json::parse(*refused).at("error").at("code"), -32600);
    EXPECT_TRUE(memory.call("core.health").at("result").at("ok").as_bool());
    EXPECT_TRUE(memory.others.empty());
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) // they keep memory of their own
    const auto status = TempHome::read_path("/proc/" + std::to_string(memory.pid()) + "/status");
    const auto peak = std::strtol(status.c_str() + status.find("VmHWM:") + 6, nullptr, 10);
    EXPECT_LT(peak, 60'000) << "kilobytes at most"; // the limit, its buffer's growth, and the process itself
#endif
}

TEST(MemoryContract, ten_thousand_requests_at_once_are_all_answered) {
    const TempHome home;
    MemoryProcess memory(home.path());
    (void)memory.call("session.open", {{"agent", "a"}, {"sessionId", "s"}});
    (void)memory.call("episode.open", {{"sessionId", "s"}, {"episodeId", "e"}});
    constexpr int requests = 10'000;
    std::thread sender([&] {
        for (int i = 0; i < requests; ++i) {
            const auto id = std::to_string(1'000'000 + i);
            if (i % 3 == 0)
                memory.write("{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"core.health\"}\n");
            else if (i % 3 == 1)
                memory.write("{\"jsonrpc\":\"2.0\",\"id\":" + id +
                             ",\"method\":\"turn.end\",\"params\":{\"agent\":\"a\",\"sessionId\":\"s\","
                             "\"episodeId\":\"e\","
                             "\"userText\":\"u\",\"agentText\":\"t" +
                             id + "\",\"toolCalls\":[],\"ts\":" + id + "}}\n");
            else
                memory.write("{\"jsonrpc\":\"2.0\",\"id\":" + id +
                             ",\"method\":\"memory.get_trace\",\"params\":{\"id\":\"none\"}}\n");
        }
    });
    std::map<std::int64_t, int> answers;
    for (int i = 0; i < requests; ++i) {
        const auto line = memory.line();
        if (!line)
            break;
        const auto answer = json::parse(*line).as_object();
        EXPECT_TRUE(answer.contains("result")) << *line;
        ++answers[answer.at("id").as_int64()];
    }
    sender.join();
    EXPECT_EQ(answers.size(), static_cast<std::size_t>(requests));
    EXPECT_EQ(memory.call("core.health").at("result").at("counts").at("traces"), 3333);
}

TEST(MemoryContract, a_client_that_never_reads_does_not_hold_up_the_exit) {
    const TempHome home;
    MemoryProcess memory(home.path());
    std::string many;
    for (int i = 0; i < 2000; ++i)
        many += "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"core.health\"}\n";
    memory.write(many); // a megabyte of answers: far more than a pipe holds
    ::kill(memory.pid(), SIGTERM);
    EXPECT_EQ(memory.wait(), 0);
}

TEST(MemoryContract, events_flow_to_subscribers_only_and_secrets_are_not_stored) {
    const TempHome home;
    MemoryProcess memory(home.path());
    (void)memory.call("session.open", {{"agent", "a"}, {"sessionId", "s"}});
    (void)memory.call("episode.open", {{"sessionId", "s"}, {"episodeId", "e"}});
    EXPECT_TRUE(memory.others.empty()); // nobody asked
    const auto subscription =
        memory.call("events.subscribe", {{"types", {"trace.created"}}}).at("result").at("subscriptionId");
    const auto done = memory.call("turn.end", {{"agent", "a"},
                                               {"sessionId", "s"},
                                               {"episodeId", "e"},
                                               {"agentText", "password = s3cr3t-hunter2"},
                                               {"toolCalls", json::array()},
                                               {"userText", "hello"},
                                               {"ts", 1}});
    const auto line = memory.line();
    ASSERT_TRUE(line);
    const auto event = json::parse(*line);
    EXPECT_EQ(event.at("method"), "events.notify");
    EXPECT_EQ(event.at("params").at("type"), "trace.created");
    EXPECT_EQ(event.at("params").at("payload").at("traceId"), done.at("result").at("traceId"));
    const auto trace =
        memory.call("memory.get_trace", {{"id", done.at("result").at("traceId")}}).at("result");
    EXPECT_EQ(trace.at("agentText"), "password = [redacted:secret]");
    (void)memory.call("events.unsubscribe", {{"subscriptionId", subscription}});
    (void)memory.call("session.open", {{"agent", "a"}});
    (void)memory.call("session.close",
                      {{"sessionId", "s"}}); // answered after anything the one before could cause
    EXPECT_TRUE(memory.others.empty());
}

} // namespace
} // namespace holdfast::test
