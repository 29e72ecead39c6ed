// Embeddings by the host: its reverse call host.embed, which nothing waits for beyond its deadline.
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

// A space of three directions: drinks, vehicles, all else.
json::array direction(std::string_view text) {
    const auto has = [&](const char* word) { return text.find(word) != text.npos; };
    return {has("espresso") || has("beverage") ? 1.0 : 0.1, has("truck") ? 1.0 : 0.1, 0.2};
}

json::object vectors_for(const json::object& request) {
    json::array vectors;
    for (const auto& text : request.at("params").at("texts").as_array())
        vectors.push_back(direction(text.as_string()));
    return {{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"result", {{"vectors", std::move(vectors)}}}};
}

json::object refusal(const json::object& request) {
    return {{"jsonrpc", "2.0"},
            {"id", request.at("id")},
            {"error", {{"code", -32601}, {"message", "no such method"}}}};
}

// A client of the memory that is asked things itself.
class Host {
public:
    using Answer = std::function<std::optional<json::object>(const json::object& request)>;

    Host(const TempHome& home, Answer answer)
        : memory_(home.path())
        , answer_(std::move(answer)) {}

    json::object call(const std::string& method, json::object params = {}) {
        const json::value id(json::string("ours-" + std::to_string(++last_)));
        memory_.write(
            json::serialize(json::object{
                {"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}}) +
            "\n");
        while (const auto line = memory_.line()) {
            auto message = json::parse(*line).as_object();
            if (message.contains("method"))
                serve(message);
            else if (message.at("id") == id)
                return message;
        }
        ADD_FAILURE() << method << " was not answered";
        return {};
    }
    // Serves until `done` says so, asking for health in between.
    void serve_until(const std::function<bool(const json::object& embedder)>& done) {
        for (int i = 0; i < 3000; ++i) {
            if (done(call("core.health").at("result").at("embedder").as_object()))
                return;
            if (const auto line = memory_.line_within(std::chrono::milliseconds(10)))
                serve(json::parse(*line).as_object());
        }
        FAIL() << "it did not come to that";
    }
    void turns(int count) {
        ASSERT_TRUE(call("session.open", {{"agent", "a"}, {"sessionId", "s"}}).contains("result"));
        ASSERT_TRUE(call("episode.open", {{"sessionId", "s"}, {"episodeId", "e"}}).contains("result"));
        for (int i = 0; i < count; ++i)
            ASSERT_TRUE(call("turn.end", {{"agent", "a"},
                                          {"sessionId", "s"},
                                          {"episodeId", "e"},
                                          {"userText", i == 0 ? std::string("an espresso after lunch")
                                                              : "the truck number " + std::to_string(i)},
                                          {"agentText", "noted"},
                                          {"toolCalls", json::array()},
                                          {"ts", 1'700'000'000'000 + i}})
                            .contains("result"));
    }
    std::string first_hit(const std::string& query) {
        const auto answer = call("memory.search", {{"query", query}, {"topK", 1}});
        const auto& hits = answer.at("result").at("hits").as_array();
        return hits.empty() ? std::string() : std::string(hits[0].at("snippet").as_string());
    }
    MemoryProcess& process() { return memory_; }
    int asked = 0;

private:
    void serve(const json::object& request) {
        EXPECT_EQ(request.at("method"), "host.embed");
        EXPECT_GT(request.at("params").at("timeoutMs").to_number<int>(), 0);
        EXPECT_EQ(request.at("params").at("model"), "three");
        ++asked;
        if (const auto answer = answer_(request))
            memory_.write(json::serialize(*answer) + "\n");
    }

    MemoryProcess memory_;
    Answer answer_;
    int last_ = 0;
};

constexpr const char* by_host = R"({"embeddings":{"host":true,"model":"three","timeoutMs":5000}})";

bool has_vectors(const json::object& embedder, std::int64_t wanted) {
    return embedder.contains("vectors") && embedder.at("vectors").to_number<std::int64_t>() >= wanted;
}

TEST(MemoryHostEmbeddings, what_shares_no_word_is_found_by_the_vectors_of_the_host) {
    const TempHome home;
    home.write("config.json", by_host);
    Host host(home, vectors_for);
    host.turns(40); // more than one request's worth, and the one that is meant is the oldest
    host.serve_until([](const json::object& embedder) { return has_vectors(embedder, 40); });
    EXPECT_NE(host.first_hit("beverage").find("espresso"), std::string::npos);
    const auto embedder = host.call("core.health").at("result").at("embedder").as_object();
    EXPECT_EQ(embedder.at("provider"), "host");
    EXPECT_EQ(embedder.at("available"), true);
}

TEST(MemoryHostEmbeddings, nobody_is_asked_without_the_setting) {
    const TempHome home;
    Host host(home, vectors_for);
    host.turns(3);
    EXPECT_EQ(host.first_hit("beverage"), "");
    EXPECT_EQ(host.asked, 0);
}

TEST(MemoryHostEmbeddings, who_cannot_is_asked_once_and_the_next_one_serves) {
    const TempHome home;
    home.write("config.json", by_host);
    Host able(home, vectors_for);
    able.turns(5);
    able.serve_until([](const json::object& embedder) { return has_vectors(embedder, 5); });
    Host unable(home, refusal); // came last, so it is asked first
    ASSERT_TRUE(unable.call("core.health").contains("result"));
    // The question of one, answered by the refusal of the other and then by its own vectors.
    const auto ask = [&] {
        able.process().write(json::serialize(json::object{{"jsonrpc", "2.0"},
                                                          {"id", "q"},
                                                          {"method", "memory.search"},
                                                          {"params", {{"query", "beverage"}, {"topK", 1}}}}) +
                             "\n");
        if (unable.asked == 0) {
            const auto line = unable.process().line();
            ASSERT_TRUE(line);
            ++unable.asked;
            unable.process().write(json::serialize(refusal(json::parse(*line).as_object())) + "\n");
        }
        const auto line = able.process().line();
        ASSERT_TRUE(line);
        const auto request = json::parse(*line).as_object();
        ASSERT_TRUE(request.contains("method")) << *line;
        able.process().write(json::serialize(vectors_for(request)) + "\n");
        const auto answer = able.process().line();
        ASSERT_TRUE(answer);
        EXPECT_NE(answer->find("espresso"), std::string::npos) << *answer;
    };
    ask();
    ask();
    EXPECT_EQ(unable.asked, 1);
}

TEST(MemoryHostEmbeddings, a_silent_host_holds_up_neither_answers_nor_the_end) {
    const TempHome home;
    home.write("config.json", R"({"embeddings":{"host":true,"model":"three","timeoutMs":60000}})");
    bool silent = false;
    Host host(home, [&](const json::object& request) -> std::optional<json::object> {
        if (silent)
            return std::nullopt;
        return vectors_for(request);
    });
    host.turns(3);
    host.serve_until([](const json::object& embedder) { return has_vectors(embedder, 3); });
    silent = true;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    const auto begun = std::chrono::steady_clock::now();
    const auto started = host.call("turn.start", {{"agent", "a"},
                                                  {"sessionId", "s"},
                                                  {"userText", "which truck number 2"},
                                                  {"ts", now},
                                                  {"deadlineAt", now + 600}});
    ASSERT_TRUE(started.contains("result")) << json::serialize(started);
    EXPECT_FALSE(started.at("result").at("hits").as_array().empty());
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(50)) << "of 60 it may take";
    host.process().close_input();
    EXPECT_EQ(host.process().wait_briefly(), 0);
}

TEST(MemoryHostEmbeddings, odd_answers_are_errors_that_health_tells_and_cost_nothing_else) {
    for (const char* odd : {R"({})", R"({"vectors":[]})", R"({"vectors":[[]]})", R"({"vectors":[["x"]]})",
                            R"({"vectors":{}})", R"({"vectors":[[1e300]]})"}) {
        const TempHome home;
        home.write("config.json", by_host);
        Host host(home, [&](const json::object& request) -> std::optional<json::object> {
            return json::object{{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"result", json::parse(odd)}};
        });
        host.turns(1);
        host.serve_until([](const json::object& embedder) { return !embedder.at("lastError").is_null(); });
        EXPECT_NE(host.first_hit("espresso").find("lunch"), std::string::npos) << odd;
    }
}

TEST(MemoryHostEmbeddings, a_server_and_the_host_at_once_is_a_mistake_that_is_said) {
    const TempHome home;
    home.write("config.json", R"({"embeddings":{"host":true,"endpoint":"http://127.0.0.1:9/v1"}})");
    MemoryProcess memory(home.path());
    const auto health = memory.call("core.health").at("result");
    EXPECT_NE(json::serialize(health).find("embeddings.host and embeddings.endpoint"), std::string::npos)
        << json::serialize(health);
}

} // namespace
} // namespace holdfast::test
