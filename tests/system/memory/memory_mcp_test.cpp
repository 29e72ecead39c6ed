// The MCP face by its own lines: batches, which one version of the protocol has.
#include "support/memory_home.hpp"
#include "support/memory_leftover.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

json::value ask(MemoryProcess& memory, const std::string& line) {
    memory.write(line + "\n");
    const auto answer = memory.line();
    EXPECT_TRUE(answer) << line;
    boost::system::error_code torn;
    auto parsed = json::parse(answer.value_or("null"), torn);
    EXPECT_FALSE(torn) << answer.value_or("");
    return parsed;
}

void agree_on(MemoryProcess& memory, const std::string& version) {
    const auto answer =
        ask(memory, R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" +
                        version + R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})");
    ASSERT_EQ(answer.at("result").at("protocolVersion"), json::value(version));
}

std::string ping(const std::string& id) {
    return R"({"jsonrpc":"2.0","method":"ping","id":)" + id + "}";
}

std::string remember(const std::string& id, const std::string& text) {
    return R"({"jsonrpc":"2.0","method":"tools/call","id":)" + id +
           R"(,"params":{"name":"remember","arguments":{"text":")" + text + R"("}}})";
}

constexpr const char* notification = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
constexpr const char* stray_answer = R"({"jsonrpc":"2.0","id":9,"result":{}})";

// One error for the whole line, as an object.
void expect_refused(const json::value& answer, std::string_view because) {
    ASSERT_TRUE(answer.is_object()) << json::serialize(answer);
    EXPECT_TRUE(answer.at("id").is_null());
    EXPECT_EQ(answer.at("error").at("code"), -32600);
    EXPECT_NE(std::string_view(answer.at("error").at("message").as_string()).find(because),
              std::string_view::npos)
        << json::serialize(answer);
}

TEST(McpBatch, many_requests_in_one_line_are_answered_by_one_line_in_their_order) {
    const TempHome home;
    MemoryProcess memory(home.path(), {"--mcp"});
    agree_on(memory, "2025-03-26");
    const auto answers = ask(memory, "[" + remember("1", "the ferry leaves at nine") + "," + notification +
                                         "," + ping("\"two\"") + ",17," + stray_answer +
                                         R"(,{"jsonrpc":"2.0","method":"frobnicate","id":3}])");
    ASSERT_TRUE(answers.is_array()) << json::serialize(answers);
    ASSERT_EQ(answers.as_array().size(), 4U) << json::serialize(answers);
    EXPECT_EQ(answers.at(0).at("id"), 1);
    EXPECT_TRUE(answers.at(0).as_object().contains("result")) << json::serialize(answers.at(0));
    EXPECT_EQ(answers.at(1).at("id"), "two");
    EXPECT_TRUE(answers.at(1).as_object().contains("result"));
    EXPECT_TRUE(answers.at(2).at("id").is_null());
    EXPECT_EQ(answers.at(2).at("error").at("code"), -32600);
    EXPECT_EQ(answers.at(3).at("id"), 3);
    EXPECT_EQ(answers.at(3).at("error").at("code"), -32601);
    // What was answered in a batch is stored like anything else.
    const auto found =
        ask(memory, "[" + std::string(R"({"jsonrpc":"2.0","method":"tools/call","id":4,"params":)") +
                        R"({"name":"search","arguments":{"query":"ferry"}}}])");
    EXPECT_NE(json::serialize(found.at(0)).find("leaves at nine"), std::string::npos)
        << json::serialize(found);
    memory.close_input();
    EXPECT_EQ(memory.wait(), 0);
}

TEST(McpBatch, only_notifications_get_nothing_and_what_is_no_batch_gets_one_error) {
    const TempHome home;
    MemoryProcess memory(home.path(), {"--mcp"});
    agree_on(memory, "2025-03-26");
    memory.write("[" + std::string(notification) + "," + notification + "," + stray_answer + "]\n");
    EXPECT_EQ(ask(memory, ping("5")).at("id"), 5) << "the next line answers the next question";
    expect_refused(ask(memory, "[]"), "empty");
    const auto alone = ask(memory, R"([{"jsonrpc":"2.0","id":6,"method":"initialize","params":{}}])");
    EXPECT_EQ(alone.at(0).at("id"), 6);
    EXPECT_EQ(alone.at(0).at("error").at("code"), -32600);
    // Ids are noted for the next owner, and there is a limit to that.
    std::string many = "[";
    for (int i = 0; i < 1000; ++i)
        many += (i > 0 ? "," : "") + ping(std::to_string(100'000 + i));
    expect_refused(ask(memory, many + "]"), "fewer requests");
    EXPECT_EQ(ask(memory, ping("7")).at("id"), 7);
}

TEST(McpBatch, other_versions_have_none_and_are_told_so) {
    const TempHome home;
    MemoryProcess memory(home.path(), {"--mcp"});
    expect_refused(ask(memory, "[" + ping("1") + "]"), "no version was agreed on");
    for (const char* version : {"2024-11-05", "2025-06-18", "2025-11-25"}) {
        agree_on(memory, version);
        expect_refused(ask(memory, "[" + ping("1") + "]"), version);
    }
    agree_on(memory, "2025-03-26");
    EXPECT_TRUE(ask(memory, "[" + ping("1") + "]").is_array());
    // The contract's own face has no batches at all.
    MemoryProcess contract(home.path());
    EXPECT_EQ(ask(contract, "[" + ping("1") + "]").at("error").at("code"), -32600);
}

TEST(McpBatch, a_batch_that_died_with_the_owner_is_answered_as_a_whole_and_the_next_owner_takes_batches) {
    const TempHome home;
    leave_store(home, 1, 4);
    // It never gets to open its store, so what needs one is in flight when it dies.
    MemoryProcess owner(home.path(), {}, {}, -1, on_slow_disk(600'000));
    ASSERT_EQ(served_by(owner), owner.pid());
    MemoryProcess client(home.path(), {"--mcp"});
    agree_on(client, "2025-03-26");
    client.write("[" + remember("1", "one") + "," + ping("2") + "," + remember("\"three\"", "three") + "]\n");
    EXPECT_EQ(ask(client, ping("4")).at("id"), 4) << "answered after that was read";
    kill_and_reap(owner);
    const auto line = client.line();
    ASSERT_TRUE(line);
    const auto lost = json::parse(*line);
    ASSERT_TRUE(lost.is_array()) << *line;
    ASSERT_EQ(lost.as_array().size(), 3U) << *line;
    EXPECT_EQ(lost.at(0).at("id"), 1);
    EXPECT_EQ(lost.at(1).at("id"), 2);
    EXPECT_EQ(lost.at(2).at("id"), "three");
    for (const auto& one : lost.as_array())
        EXPECT_EQ(one.at("error").at("data").at("retryable"), true);
    const auto again = ask(client, "[" + remember("5", "one") + "," + remember("6", "three") + "]");
    ASSERT_TRUE(again.is_array()) << json::serialize(again);
    for (const auto& one : again.as_array())
        EXPECT_TRUE(one.as_object().contains("result")) << json::serialize(one);
}

std::string tool(MemoryProcess& memory, const std::string& name, const std::string& arguments) {
    const auto answer = ask(memory, R"({"jsonrpc":"2.0","method":"tools/call","id":1,"params":{"name":")" +
                                        name + R"(","arguments":)" + arguments + "}}");
    const auto& result = answer.at("result").as_object();
    return std::string(result.contains("isError") ? "error: " : "") +
           std::string(result.at("content").at(0).at("text").as_string());
}

json::value read_uri(MemoryProcess& memory, const std::string& uri) {
    return ask(memory,
               json::serialize(json::object{
                   {"jsonrpc", "2.0"}, {"id", 1}, {"method", "resources/read"}, {"params", {{"uri", uri}}}}));
}

// Brought in by another client of the same home.
void bring_in(const std::string& home, json::array records) {
    MemoryProcess client(home, {"--no-viewer"});
    const auto answer =
        ask(client, json::serialize(json::object{{"jsonrpc", "2.0"},
                                                 {"id", 1},
                                                 {"method", "transfer.import"},
                                                 {"params", {{"records", std::move(records)}}}}));
    ASSERT_TRUE(answer.at("result").at("refused").as_array().empty()) << json::serialize(answer);
}

TEST(McpTools, no_result_is_longer_than_was_said_and_all_of_it_can_be_had) {
    const TempHome home;
    json::array records;
    for (int i = 0; i < 12; ++i) // ids as long as they may be
        records.push_back({{"ts", 1000 + i},
                           {"userText", "heron"},
                           {"episodeId", "ep_" + std::string(3500, 'x') + std::to_string(i)}});
    json::array tools;
    for (int i = 0; i < 2000; ++i)
        tools.push_back(json::object{{"name", "a tool with a long name"}});
    for (int i = 0; i < 250; ++i)
        records.push_back({{"ts", 5000 + i},
                           {"id", "tr_" + std::to_string(i)},
                           {"userText", "turn " + std::to_string(i) + "."},
                           {"episodeId", "ep_long"},
                           {"toolCalls", i == 3 ? tools : json::array()}});
    bring_in(home.path(), std::move(records));
    MemoryProcess memory(home.path(), {"--mcp", "--no-viewer"});
    agree_on(memory, "2025-06-18");
    constexpr std::size_t most = 8000;
    std::string before;
    int listed = 0;
    for (int pages = 0; pages < 20; ++pages) {
        const auto text =
            tool(memory, "recall_timeline", before.empty() ? "{}" : "{\"before\":\"" + before + "\"}");
        EXPECT_LE(text.size(), most);
        for (auto at = text.find("\n[ep_"); at != text.npos; at = text.find("\n[ep_", at + 1))
            ++listed;
        const auto next = text.find("before = \"");
        if (next == text.npos)
            break;
        before = text.substr(next + 10, text.find('"', next + 10) - next - 10);
    }
    EXPECT_EQ(listed, 13);
    std::string all;
    for (std::string after = "0"; !after.empty();) {
        const auto text =
            tool(memory, "recall_timeline", "{\"episode\":\"ep_long\",\"after\":" + after + "}");
        EXPECT_LE(text.size(), most);
        all += text;
        const auto next = text.find("after = ");
        after = next == text.npos ? "" : text.substr(next + 8, text.find('.', next) - next - 8);
    }
    for (int i = 0; i < 250; ++i) {
        const auto wanted = "turn " + std::to_string(i) + ".";
        const auto at = all.find(wanted);
        ASSERT_NE(at, all.npos) << wanted;
        EXPECT_EQ(all.find(wanted, at + 1), all.npos) << wanted << " is there twice";
    }
    EXPECT_LE(tool(memory, "search", R"({"query":"heron","limit":25})").size(), most);
}

// A client puts an id into a template as RFC 6570 has it.
TEST(McpResources, an_id_is_found_however_its_address_is_written) {
    const TempHome home;
    bring_in(home.path(),
             json::array{json::object{
                 {"ts", 1}, {"id", "a/b#c"}, {"episodeId", "ep 100%41 ü"}, {"userText", "reeds"}}});
    MemoryProcess memory(home.path(), {"--mcp", "--no-viewer"});
    agree_on(memory, "2025-06-18");
    for (const auto* uri : {"memory://trace/a%2Fb%23c", "memory://trace/a/b#c", "memory://trace/a%2fb#c",
                            "memory://episode/ep%20100%2541%20%C3%BC"}) {
        const auto answer = read_uri(memory, uri);
        ASSERT_TRUE(answer.as_object().contains("result")) << uri << json::serialize(answer);
        EXPECT_NE(
            std::string_view(answer.at("result").at("contents").at(0).at("text").as_string()).find("reeds"),
            std::string_view::npos);
    }
    const auto recent = read_uri(memory, "memory://recent");
    EXPECT_NE(std::string_view(recent.at("result").at("contents").at(0).at("text").as_string())
                  .find("  memory://episode/ep%20100%2541%20%C3%BC  "),
              std::string_view::npos)
        << json::serialize(recent);
    EXPECT_EQ(ask(memory, R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":5}})")
                  .at("error")
                  .at("code"),
              -32602);
}

TEST(McpTools, null_is_no_argument_and_a_whole_number_may_have_a_point) {
    const TempHome home;
    MemoryProcess memory(home.path(), {"--mcp"});
    agree_on(memory, "2025-06-18");
    const auto tool = [&](const std::string& name, const std::string& arguments) {
        return holdfast::test::tool(memory, name, arguments);
    };
    (void)ask(memory, remember("1", "the ferry leaves at nine"));
    EXPECT_EQ(tool("feedback", R"({"id":null,"verdict":"good"})"), "error: id is required");
    EXPECT_EQ(tool("feedback", R"({"id":"x","verdict":null})"), "error: verdict is required");
    EXPECT_EQ(tool("remember", R"({"text":null})"), "error: text is required");
    EXPECT_EQ(tool("remember", R"({"text":"x","tags":[1,"a"]})"), "error: tags must be a list of strings");
    EXPECT_NE(tool("search", R"({"query":"ferry","limit":2.0,"session":null})").find("nine"),
              std::string::npos);
    EXPECT_EQ(tool("search", R"({"query":"ferry","limit":2.5})"), "error: limit must be a whole number");
    EXPECT_EQ(tool("search", R"({"query":"ferry","limit":1e3})"), "error: limit is out of range");
}

std::string modern(const std::string& id, const std::string& method, const std::string& more = "") {
    return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method +
           R"(","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)" +
           R"("io.modelcontextprotocol/clientCapabilities":{}})" + more + "}}";
}

std::string line_for(MemoryProcess& memory, const std::string& line) {
    memory.write(line + "\n");
    return memory.line().value_or("");
}

// Any string or number is an id, and its sender looks for the same characters.
TEST(McpIds, come_back_as_they_were_sent) {
    const TempHome home;
    for (const bool mcp : {true, false}) {
        MemoryProcess memory(home.path(),
                             mcp ? std::vector<std::string>{"--mcp"} : std::vector<std::string>{});
        if (mcp)
            agree_on(memory, "2025-03-26");
        const std::string method = mcp ? "ping" : "core.health";
        for (const std::string id :
             {"1.5", "1e3", "-0", "1.0", "18446744073709551616", "-9223372036854775809", "0.1e-7", "1E400",
              "\"\"", R"("a\u0041\ud83d\ude00\"b")", R"("\udce9")", "123456789012345678901234567890.5"}) {
            for (const std::string& request :
                 {R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + "\"}",
                  R"({"method":")" + method + R"(", "\u0069d" : )" + id + R"( ,"jsonrpc":"2.0"})",
                  R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"frobnicate"})",
                  R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":[]})"}) {
                const auto answer = line_for(memory, request);
                EXPECT_TRUE(answer.starts_with(R"({"jsonrpc":"2.0","id":)" + id + ",\"")) << request << '\n'
                                                                                          << answer;
            }
        }
        // What is no id is answered as nobody's.
        for (const char* id : {"null", "true", "{}", "[1]"})
            EXPECT_TRUE(line_for(memory, R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" +
                                             method + "\"}")
                            .starts_with(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600)"));
        // Deeper than it is taken, a request has an id all the same.
        const std::string deep = std::string(5000, '[') + std::string(5000, ']');
        EXPECT_TRUE(line_for(memory, R"({"jsonrpc":"2.0","method":")" + method + R"(","params":{"a":)" +
                                         deep + R"(},"id":7.5})")
                        .starts_with(R"({"jsonrpc":"2.0","id":7.5,"error":{"code":-32600)"));
    }
    MemoryProcess memory(home.path(), {"--mcp"});
    agree_on(memory, "2025-03-26");
    const auto batch = line_for(memory, "[" + ping("1.50") + " , " + ping("1e3") + "]");
    EXPECT_NE(batch.find(R"("id":1.50,)"), std::string::npos) << batch;
    EXPECT_NE(batch.find(R"("id":1e3,)"), std::string::npos) << batch;
}

TEST(McpRequests, with_parameters_that_mean_nothing_are_refused) {
    const TempHome home;
    MemoryProcess memory(home.path(), {"--mcp"});
    const auto code = [&](const std::string& line) -> std::int64_t {
        const auto answer = ask(memory, line);
        const auto* error = answer.as_object().if_contains("error");
        return error != nullptr ? error->at("code").as_int64() : 0;
    };
    for (const char* version : {"5", "null", "[]", "{}", "true"})
        EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":)" +
                       std::string(version) +
                       R"(,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}})"),
                  -32602)
            << version;
    EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}})"), -32602);
    agree_on(memory, "2025-06-18");
    for (const std::string method : {"tools/list", "resources/list", "resources/templates/list"}) {
        for (const std::string cursor : {"\"junk\"", "\"\"", "5", "{}"}) {
            EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":2,"method":")" + method + R"(","params":{"cursor":)" +
                           cursor + "}}"),
                      -32602)
                << method << cursor;
            EXPECT_EQ(code(modern("3", method, ",\"cursor\":" + cursor)), -32602) << method << cursor;
        }
        EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":2,"method":")" + method + R"(","params":{}})"), 0);
        EXPECT_EQ(code(modern("3", method)), 0);
    }
    EXPECT_EQ(code(modern("4", "subscriptions/listen")), -32602);
    EXPECT_EQ(code(modern("4", "subscriptions/listen", R"(,"notifications":[])")), -32602);
    // And with them the subscription has the id as it was written.
    memory.write(modern("4.50", "subscriptions/listen", R"(,"notifications":{})") + "\n");
    for (const char* what : {"notifications/subscriptions/acknowledged", R"("id":4.50,)"}) {
        const auto line = memory.line().value_or("");
        EXPECT_NE(line.find(what), std::string::npos) << line;
        EXPECT_NE(line.find(R"("io.modelcontextprotocol/subscriptionId":4.50)"), std::string::npos) << line;
        boost::system::error_code torn;
        (void)json::parse(line, torn);
        EXPECT_FALSE(torn) << line;
    }
}

} // namespace
} // namespace holdfast::test
