// `holdfast memory mcp` under the official clients of both eras, one after another and many at once.
#include "node_client.hpp"

namespace holdfast::harness {

namespace {

class Mcp : public NodeClient {};

TEST_F(Mcp, the_old_client_of_the_legacy_era) {
    expect_passes({"mcp_legacy.mjs", program("holdfast")});
}

TEST_F(Mcp, the_new_client_in_the_legacy_era) {
    expect_passes({"mcp_eras.mjs", program("holdfast"), "legacy"});
}

TEST_F(Mcp, the_new_client_in_the_modern_era) {
    expect_passes({"mcp_eras.mjs", program("holdfast"), "2026-07-28"});
}

TEST_F(Mcp, the_new_client_finds_out_the_era_by_itself) {
    expect_passes({"mcp_eras.mjs", program("holdfast"), "auto"});
}

TEST_F(Mcp, many_clients_share_one_owner_and_none_gets_anothers_answer) {
    expect_passes({"mcp_shared.mjs", program("holdfast"), file("memory")});
}

TEST_F(Mcp, errors_are_those_of_the_protocol) {
    auto spec = home.command({"memory", "mcp", "--no-viewer"});
    spec.in = Stdio::pipe;
    auto server = Child::spawn(spec);
    ASSERT_TRUE(server);
    const auto ask = [&](const std::string& line) {
        EXPECT_TRUE(server->write_in(line + "\n"));
        const auto answer = server->out().read_line(Deadline::in(patience));
        EXPECT_TRUE(answer) << line;
        return boost::json::parse(answer.value_or("{}")).as_object();
    };
    const auto code = [&](const std::string& line) {
        const auto answer = ask(line);
        return answer.contains("error") ? answer.at("error").at("code").as_int64() : 0;
    };
    const std::string modern =
        R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";
    EXPECT_EQ(code("nonsense"), -32700);
    EXPECT_EQ(code("[]"), -32600);
    EXPECT_EQ(code("17"), -32600);
    EXPECT_EQ(code(R"({"id":1,"method":"ping"})"), -32600);
    EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":true,"method":"ping"})"), -32600);
    const auto fraction = ask(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"); // a number is an id as it is
    EXPECT_TRUE(fraction.contains("result"));
    EXPECT_EQ(fraction.at("id"), 1.5);
    EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"frobnicate"})"), -32601);
    EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]})"), -32602);
    EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}})"), -32602);
    EXPECT_EQ(
        code(R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"memory://trace/none"}})"),
        -32002);
    EXPECT_EQ(
        code(R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd",)" +
             modern + "}}"),
        -32602);
    EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{)" + modern + "}}"),
              -32601); // not of that era any more
    EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"), 0);
    const auto unsupported = ask(
        R"({"jsonrpc":"2.0","id":"v","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}})");
    EXPECT_EQ(unsupported.at("error").at("code").as_int64(), -32022);
    EXPECT_EQ(unsupported.at("error").at("data").at("supported").at(0), "2026-07-28");
    EXPECT_EQ(unsupported.at("id"), "v");
    EXPECT_EQ(
        code(
            R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"),
        -32602);
    // A version that is not known gets the newest of its era; initialize may come again.
    for (const auto& [asked, given] :
         std::vector<std::pair<std::string, std::string>>{{"2024-11-05", "2024-11-05"},
                                                          {"2025-06-18", "2025-06-18"},
                                                          {"2025-11-25", "2025-11-25"},
                                                          {"1999-01-01", "2025-11-25"}})
        EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":")" +
                      asked + R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})")
                      .at("result")
                      .at("protocolVersion"),
                  boost::json::value(given));
    // Notifications and stray answers get nothing: the next line is the answer to the next question.
    EXPECT_TRUE(server->write_in("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                 "initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n"));
    EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":77,"method":"ping"})").at("id").as_int64(), 77);
    server->close_in();
    const auto end = server->wait(Deadline::in(patience));
    ASSERT_TRUE(end);
    EXPECT_TRUE(end->exited_with(0));
}

} // namespace

} // namespace holdfast::harness
