// The MCP server, with tools that are none of the memory's.
#include "mcp/server.hpp"
#include "mcp/tools.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace holdfast;
using namespace holdfast::mcp;
using base::cat;

namespace {

constexpr Identity identity_of_test{"tester", "The tester", "1.2", "Use it."};

json::object input() {
    return object_schema({{"word", text_property("A word.")},
                          {"times", {{"type", "integer"}, {"minimum", 1}, {"maximum", 3}}},
                          {"tags", {{"type", "array"}}},
                          {"mood", {{"type", "string"}, {"enum", {"good", "bad"}}}}},
                         {"word"});
}
constexpr Tool tool{"shout", "Shout", "Says a word.", input, true, false};

struct Shop : Offer {
    [[nodiscard]] const Identity& identity() const override { return identity_of_test; }
    [[nodiscard]] json::object capabilities() const override { return {{"tools", json::object()}}; }
    [[nodiscard]] json::array tools() const override { return {to_json(tool)}; }
    [[nodiscard]] json::array resources() const override { return {}; }
    [[nodiscard]] json::array resource_templates() const override { return {}; }
    void call_tool(Request request) override {
        if (const auto arguments = arguments_for(tool, request))
            request.say(arguments->at("word").as_string());
    }
    void read_resource(Request request) override { request.refuse(resource_not_found, "there is none"); }
};

struct Wire : rpc::Connection {
    std::vector<std::string> sent;
    std::string state;
    void send(std::string_view message) override { sent.emplace_back(message); }
    bool remember(std::string_view kept) override {
        state = kept;
        return true;
    }
};

struct McpServer : testing::Test {
    Shop shop;
    Server server{shop};
    std::shared_ptr<Wire> wire = std::make_shared<Wire>();

    std::string ask_line(std::string_view line) {
        const auto before = wire->sent.size();
        server.handle(wire, line);
        return wire->sent.size() > before ? wire->sent.back() : "";
    }
    json::value ask(std::string_view method, json::object params = {}) {
        return boost::json::parse(ask_line(rpc::write_request("1", method, boost::json::serialize(params))));
    }
    json::value modern(std::string_view method, json::object params = {}) {
        params["_meta"] = {{version_key, modern_version}, {capabilities_key, json::object()}};
        return ask(method, std::move(params));
    }
    static int code(const json::value& answer) {
        return answer.as_object().contains("error")
                   ? static_cast<int>(answer.at("error").at("code").as_int64())
                   : 0;
    }
};

TEST_F(McpServer, agrees_on_the_version_that_is_asked_for_or_the_newest) {
    for (const auto version : legacy_versions) {
        const auto answer = ask("initialize", {{"protocolVersion", version}});
        EXPECT_EQ(answer.at("result").at("protocolVersion"), json::value(version));
        EXPECT_EQ(wire->state, version) << "the next process has to know it";
    }
    const auto answer = ask("initialize", {{"protocolVersion", "1999-01-01"}});
    EXPECT_EQ(answer.at("result").at("protocolVersion"), json::value(legacy_versions.front()));
    EXPECT_EQ(boost::json::serialize(answer.at("result").at("serverInfo")),
              R"({"name":"tester","title":"The tester","version":"1.2"})");
    EXPECT_EQ(code(ask("initialize")), rpc::invalid_params);
}

TEST_F(McpServer, each_era_has_its_own_methods_and_its_own_form_of_answers) {
    EXPECT_EQ(code(ask("ping")), 0);
    EXPECT_EQ(code(modern("ping")), rpc::method_not_found);
    EXPECT_EQ(code(modern("initialize", {{"protocolVersion", modern_version}})), rpc::method_not_found);
    EXPECT_EQ(code(ask("subscriptions/listen", {{"notifications", json::object()}})), rpc::method_not_found);
    EXPECT_EQ(code(modern("subscriptions/listen", {{"notifications", json::object()}})), 0);
    EXPECT_EQ(code(modern("subscriptions/listen")), rpc::invalid_params);
    const auto legacy = ask("tools/list").at("result").as_object();
    EXPECT_FALSE(legacy.contains("ttlMs") || legacy.contains("resultType"));
    const auto list = modern("tools/list").at("result").as_object();
    EXPECT_EQ(list.at("ttlMs"), 3'600'000);
    EXPECT_EQ(list.at("cacheScope"), "private");
    EXPECT_EQ(list.at("resultType"), "complete");
    EXPECT_EQ(list.at("_meta").at(server_key).at("name"), "tester");
    EXPECT_EQ(ask("server/discover").at("result").at("supportedVersions").at(0), json::value(modern_version));
    EXPECT_EQ(code(ask("no/such")), rpc::method_not_found);
}

TEST_F(McpServer, refuses_a_modern_version_that_it_does_not_speak_and_says_which_it_does) {
    const auto answer = ask("tools/list", {{"_meta", {{version_key, "2030-01-01"}}}});
    EXPECT_EQ(code(answer), unsupported_version);
    EXPECT_EQ(answer.at("error").at("data").at("supported").at(0), json::value(modern_version));
    EXPECT_EQ(answer.at("error").at("data").at("requested"), "2030-01-01");
    EXPECT_EQ(code(ask("tools/list", {{"_meta", {{version_key, modern_version}}}})), rpc::invalid_params);
}

TEST_F(McpServer, has_batches_in_one_version_only_also_after_a_hand_over) {
    const auto batch = cat('[', rpc::write_request("1", "ping", ""), ']');
    EXPECT_NE(ask_line(batch).find("no version was agreed on"), std::string::npos);
    (void)ask("initialize", {{"protocolVersion", legacy_versions.front()}});
    EXPECT_NE(ask_line(batch).find(legacy_versions.front()), std::string::npos);
    (void)ask("initialize", {{"protocolVersion", batch_version}});
    EXPECT_EQ(ask_line(batch), "[" + rpc::write_result("1", "{}") + "]");
    Server successor{shop};
    successor.handle(wire, batch);
    EXPECT_NE(wire->sent.back().find("no version was agreed on"), std::string::npos);
    successor.resume(wire.get(), wire->state);
    successor.handle(wire, batch);
    EXPECT_EQ(wire->sent.back(), "[" + rpc::write_result("1", "{}") + "]");
    const auto inside = ask_line(cat('[', rpc::write_request("1", "initialize", ""), ']'));
    EXPECT_NE(inside.find("send it alone"), std::string::npos) << inside;
}

TEST_F(McpServer, answers_no_notification_and_no_answer) {
    for (const char* line : {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
                             R"({"jsonrpc":"1.0","method":"notifications/initialized"})",
                             R"({"jsonrpc":"2.0","id":1,"result":{}})"})
        EXPECT_EQ(ask_line(line), "") << line;
    EXPECT_NE(ask_line(R"({"jsonrpc":"2.0","id":null,"method":"ping"})").find("a request is one JSON object"),
              std::string::npos);
}

TEST_F(McpServer, tells_the_model_what_is_wrong_with_its_arguments) {
    const auto call = [&](json::object arguments) {
        return ask("tools/call", {{"name", "shout"}, {"arguments", std::move(arguments)}})
            .at("result")
            .as_object();
    };
    const auto text = [](const json::object& result) {
        return std::string(result.at("content").at(0).at("text").as_string());
    };
    EXPECT_EQ(text(call({{"word", "hey"}, {"times", 2.0}, {"mood", "good"}})), "hey");
    const struct {
        json::object arguments;
        const char* words;
    } cases[] = {
        {{}, "word is required"},
        {{{"word", ""}}, "word is required"},
        {{{"word", 1}}, "word must be a string"},
        {{{"word", "a"}, {"loud", true}}, "there is no argument loud"},
        {{{"word", "a"}, {"times", 1.5}}, "times must be a whole number"},
        {{{"word", "a"}, {"times", 4}}, "times is out of range"},
        {{{"word", "a"}, {"tags", json::array{1}}}, "tags must be a list of strings"},
        {{{"word", "a"}, {"mood", "odd"}}, R"(mood must be one of ["good","bad"])"},
    };
    for (const auto& one : cases) {
        const auto result = call(one.arguments);
        EXPECT_EQ(text(result), one.words);
        EXPECT_EQ(result.at("isError"), true) << one.words;
    }
    EXPECT_EQ(code(ask("tools/call", {{"name", "shout"}, {"arguments", 5}})), rpc::invalid_params);
    EXPECT_EQ(code(ask("tools/list", {{"cursor", "x"}})), rpc::invalid_params);
}

TEST(McpErrors, what_was_lost_may_be_sent_again) {
    const auto line = boost::json::parse(rpc::lost_line(plain_dialect, R"([1,"b"])"));
    ASSERT_EQ(line.as_array().size(), 2U);
    EXPECT_EQ(line.at(1).at("id"), "b");
    EXPECT_EQ(line.at(1).at("error").at("code"), try_again);
    EXPECT_EQ(line.at(1).at("error").at("data").at("retryable"), true);
}

} // namespace
