// Optional models: summaries by the host, embeddings by a server. Off by default; never waited for beyond a
// deadline.
#include "harness/eventually.hpp"
#include "memory/embed/vector_file.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <sstream>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

void turn(MemoryProcess& memory, int number, const std::string& user, const std::string& agent) {
    ASSERT_TRUE(memory
                    .call("turn.end", {{"agent", "a"},
                                       {"sessionId", "s"},
                                       {"episodeId", "e"},
                                       {"userText", user},
                                       {"agentText", agent},
                                       {"toolCalls", json::array()},
                                       {"ts", 1'700'000'000'000 + number}})
                    .contains("result"));
}

void prepare(MemoryProcess& memory) {
    ASSERT_TRUE(memory.call("session.open", {{"agent", "a"}, {"sessionId", "s"}}).contains("result"));
    ASSERT_TRUE(memory.call("episode.open", {{"sessionId", "s"}, {"episodeId", "e"}}).contains("result"));
}

TEST(MemoryModel, a_closed_episode_is_summarised_by_the_host_and_the_note_is_found) {
    const TempHome home;
    home.write("config.json", R"({"summaries":{"enabled":true,"timeoutMs":20000}})");
    MemoryProcess memory(home.path());
    MemoryProcess stranger(home.path());
    prepare(memory);
    turn(memory, 1, "book a table", "done, at the harbour, for four");
    ASSERT_TRUE(memory.call("episode.close", {{"episodeId", "e"}}).contains("result"));
    const auto line = memory.line();
    ASSERT_TRUE(line);
    const auto request = json::parse(*line).as_object();
    EXPECT_EQ(request.at("method"), "host.llm.complete");
    EXPECT_TRUE(request.at("id").as_string().starts_with("srv-"));
    const auto& params = request.at("params").as_object();
    EXPECT_EQ(params.at("timeoutMs"), 20'000);
    EXPECT_NE(json::serialize(params.at("messages")).find("at the harbour"), std::string::npos);
    // While the host thinks, everything else is answered.
    EXPECT_TRUE(memory.call("memory.search", {{"query", "harbour"}}).contains("result"));
    EXPECT_EQ(memory.call("core.health").at("result").at("llm").at("available"), false);
    const auto answer = [&](const char* text) {
        return json::serialize(
                   json::object{{"jsonrpc", "2.0"},
                                {"id", request.at("id")},
                                {"result", {{"text", text}, {"model", "made-up"}, {"durationMs", 5}}}}) +
               "\n";
    };
    stranger.write(answer("A forged summary about zebras.")); // it was not asked
    EXPECT_TRUE(stranger.call("core.health").contains("result"));
    ASSERT_TRUE(memory.call("events.subscribe", {{"types", {"episode.summarized"}}}).contains("result"));
    memory.write(answer("A dinner reservation was arranged. password = s3cr3t-hunter2"));
    const auto told = memory.line();
    ASSERT_TRUE(told);
    EXPECT_EQ(json::parse(*told).at("params").at("type"), "episode.summarized") << *told;
    const auto timeline = memory.call("memory.timeline", {{"episodeId", "e"}});
    const auto& traces = timeline.at("result").at("traces").as_array();
    ASSERT_EQ(traces.size(), 2U);
    EXPECT_EQ(traces[1].at("kind"), "note");
    EXPECT_EQ(traces[1].at("agentText"), "A dinner reservation was arranged. password = [redacted:secret]");
    const auto found = memory.call("memory.search", {{"query", "reservation"}});
    EXPECT_EQ(found.at("result").at("hits").at(0).at("refId"), traces[1].at("id"));
    const auto llm = memory.call("core.health").at("result").at("llm");
    EXPECT_EQ(llm.at("available"), true);
    EXPECT_EQ(llm.at("model"), "made-up");
    EXPECT_TRUE(stranger.others.empty());
}

TEST(MemoryModel, a_host_that_never_answers_costs_nothing_and_without_the_setting_nobody_is_asked) {
    const TempHome home;
    home.write("config.json", R"({"summaries":{"enabled":true,"timeoutMs":50}})");
    {
        MemoryProcess memory(home.path());
        prepare(memory);
        turn(memory, 1, "a", "b");
        ASSERT_TRUE(memory.call("session.close", {{"sessionId", "s"}}).contains("result"));
        const auto line = memory.line();
        ASSERT_TRUE(line);
        const auto id = json::parse(*line).at("id");
        std::this_thread::sleep_for(std::chrono::milliseconds(80)); // its time is what is tested
        EXPECT_FALSE(memory.call("core.health").at("result").at("llm").at("lastError").is_null());
        memory.write(json::serialize(json::object{{"jsonrpc", "2.0"},
                                                  {"id", id},
                                                  {"result", {{"text", "too late"}, {"model", "m"}}}}) +
                     "\n");
        EXPECT_EQ(
            memory.call("memory.timeline", {{"episodeId", "e"}}).at("result").at("traces").as_array().size(),
            1U);
        memory.close_input();
        EXPECT_EQ(memory.wait(), 0);
    }
    home.write("config.json", "{}");
    MemoryProcess memory(home.path());
    ASSERT_TRUE(memory.call("episode.open", {{"sessionId", "s"}, {"episodeId", "e2"}}).contains("result"));
    ASSERT_TRUE(memory.call("episode.close", {{"episodeId", "e"}}).contains("result"));
    EXPECT_TRUE(memory.call("memory.search", {{"query", "a"}}).contains("result"));
    EXPECT_TRUE(memory.others.empty());
}

TEST(MemoryModel, each_episode_that_a_session_leaves_open_is_summarised_once) {
    const TempHome home;
    home.write("config.json", R"({"summaries":{"enabled":true,"timeoutMs":20000}})");
    MemoryProcess memory(home.path());
    prepare(memory);
    ASSERT_TRUE(memory.call("episode.open", {{"sessionId", "s"}, {"episodeId", "f"}}).contains("result"));
    turn(memory, 1, "the first", "of two");
    ASSERT_TRUE(memory
                    .call("turn.end", {{"agent", "a"},
                                       {"sessionId", "s"},
                                       {"episodeId", "f"},
                                       {"agentText", "the second"},
                                       {"toolCalls", json::array()},
                                       {"ts", 2}})
                    .contains("result"));
    ASSERT_TRUE(memory.call("session.close", {{"sessionId", "s"}}).contains("result"));
    std::string asked;
    json::value id;
    for (int i = 0; i < 2; ++i) {
        const auto line = memory.line();
        ASSERT_TRUE(line) << i;
        ASSERT_EQ(json::parse(*line).at("method"), "host.llm.complete") << *line;
        id = json::parse(*line).at("id");
        asked += *line;
    }
    EXPECT_NE(asked.find("the first"), asked.npos);
    EXPECT_NE(asked.find("the second"), asked.npos);
    // Closed again they are not asked for again, and what a host says of itself is not everybody's burden.
    memory.write(
        json::serialize(json::object{
            {"jsonrpc", "2.0"},
            {"id", id},
            {"result", {{"text", std::string(1 << 20, 't')}, {"model", std::string(1 << 20, 'm')}}}}) +
        "\n");
    for (const char* episode : {"e", "f"})
        ASSERT_TRUE(memory.call("episode.close", {{"episodeId", episode}}).contains("result"));
    ASSERT_TRUE(memory.call("memory.search", {{"query", "second"}}).contains("result"));
    EXPECT_LE(memory.call("core.health").at("result").at("llm").at("model").as_string().size(), 200U);
    EXPECT_TRUE(memory.others.empty());
}

TEST(MemoryModel, a_bad_configuration_is_said_and_not_used) {
    const TempHome home;
    home.write("config.json", R"({"summaries":{"enabled":"yes"}})");
    MemoryProcess memory(home.path());
    const auto health = memory.call("core.health").at("result");
    EXPECT_NE(json::serialize(health.at("warnings")).find("summaries.enabled must be true or false"),
              std::string::npos)
        << json::serialize(health);
}

// A server of embeddings on loopback whose space has three directions: drinks, vehicles, all else.
class FakeEmbeddings {
public:
    FakeEmbeddings() {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
            ::listen(listener_, 16) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
            std::abort();
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    FakeEmbeddings(const FakeEmbeddings&) = delete;
    FakeEmbeddings& operator=(const FakeEmbeddings&) = delete;
    ~FakeEmbeddings() {
        stop_ = true;
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
        for (const int held : held_)
            ::close(held);
    }
    [[nodiscard]] std::string config(int timeout_ms) const {
        return "{\"embeddings\":{\"endpoint\":\"http://127.0.0.1:" + std::to_string(port_) +
               "/v1/embeddings\",\"model\":\"three\",\"timeoutMs\":" + std::to_string(timeout_ms) + "}}";
    }
    std::atomic<bool> silent = false;  // takes connections and says nothing
    std::atomic<bool> lingers = false; // answers in chunks, and leaves the connection open
    std::atomic<int> delay_ms = 0;
    std::atomic<int> asked = 0;

private:
    static json::array direction(std::string_view text) {
        const auto has = [&](const char* word) { return text.find(word) != text.npos; };
        return {has("coffee") || has("espresso") || has("beverage") ? 1.0 : 0.1,
                has("car") || has("truck") || has("automobile") ? 1.0 : 0.1, 0.2};
    }
    void serve() {
        while (!stop_) {
            const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0)
                return;
            ++asked;
            if (silent) {
                held_.push_back(client);
                continue;
            }
            std::string text;
            char chunk[65536];
            std::size_t head = std::string::npos;
            while (head == std::string::npos ||
                   text.size() <
                       head + 4 +
                           std::strtoul(text.c_str() + text.find("Content-Length:") + 15, nullptr, 10)) {
                const auto n = ::read(client, chunk, sizeof chunk);
                if (n <= 0)
                    break;
                text.append(chunk, static_cast<std::size_t>(n));
                head = text.find("\r\n\r\n");
            }
            json::array data;
            bool refuses = false;
            const auto request = json::parse(text.substr(head + 4));
            for (const auto& input : request.at("input").as_array()) {
                refuses = refuses || input.as_string().find("poison") != std::string_view::npos;
                data.push_back({{"index", data.size()}, {"embedding", direction(input.as_string())}});
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
            const auto body = json::serialize(json::object{{"data", data}});
            std::ostringstream answer;
            if (refuses)
                answer << "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
            else if (lingers)
                answer << "HTTP/1.1 200 OK\r\nTransfer-Encoding:chunked\r\n\r\n"
                       << std::hex << body.size() << "\r\n"
                       << body << "\r\n0\r\n\r\n";
            else
                answer << "HTTP/1.1 200 OK\r\nContent-Length: " << body.size() << "\r\n\r\n" << body;
            const auto sent = answer.str();
            (void)!::write(client, sent.data(), sent.size());
            if (lingers)
                held_.push_back(client);
            else
                ::close(client);
        }
    }
    int listener_ = -1;
    int port_ = 0;
    std::atomic<bool> stop_ = false;
    std::vector<int> held_;
    std::thread thread_;
};

void wait_for_vectors(MemoryProcess& memory, std::int64_t wanted) {
    ASSERT_TRUE(harness::eventually(harness::Deadline::in(std::chrono::seconds(30)), [&] {
        const auto embedder = memory.call("core.health").at("result").at("embedder").as_object();
        return embedder.contains("vectors") && embedder.at("vectors").to_number<std::int64_t>() >= wanted;
    })) << "the traces were not embedded";
}

TEST(MemoryModel, embeddings_find_what_words_do_not_and_a_silent_server_holds_up_nobody) {
    const TempHome home;
    FakeEmbeddings server;
    home.write("config.json", server.config(60'000)); // the most that a request may take
    MemoryProcess memory(home.path());
    prepare(memory);
    for (int i = 0; i < 70; ++i) // more than one request's worth, and the one that is meant is the oldest
        turn(memory, i, i == 0 ? "an espresso after lunch" : "the truck number " + std::to_string(i),
             "noted");
    wait_for_vectors(memory, 70);
    const auto first_hit = [&] {
        const auto answer = memory.call("memory.search", {{"query", "beverage"}, {"topK", 1}});
        const auto& hits = answer.at("result").at("hits").as_array();
        return hits.empty() ? std::string() : std::string(hits[0].at("snippet").as_string());
    };
    EXPECT_NE(first_hit().find("espresso"), std::string::npos) << "no word is shared";
    // A server that goes silent: the deadline of the question holds, and the words still answer.
    server.silent = true;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    const auto begun = std::chrono::steady_clock::now();
    const auto started = memory.call("turn.start", {{"agent", "a"},
                                                    {"sessionId", "s"},
                                                    {"userText", "which truck number 7"},
                                                    {"ts", now},
                                                    {"deadlineAt", now + 600}});
    ASSERT_TRUE(started.contains("result")) << json::serialize(started);
    EXPECT_FALSE(started.at("result").at("hits").as_array().empty());
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(50)) << "of 60 it may take";
    EXPECT_FALSE(memory.call("core.health").at("result").at("embedder").at("lastError").is_null());
    // And then it is left alone: the next question does not even ask.
    const int asked = server.asked;
    EXPECT_EQ(first_hit(), "") << "negative control: without the server, no word, no hit";
    EXPECT_EQ(server.asked, asked);
    memory.close_input();
    EXPECT_EQ(memory.wait_briefly(), 0);
    // A start at a silent server is a start like any other, and so is its end while the server is being
    // asked.
    std::filesystem::remove(home.file("data/vectors"));
    MemoryProcess next(home.path());
    EXPECT_TRUE(harness::eventually(harness::Deadline::in(std::chrono::seconds(30)),
                                    [&] { return server.asked > asked; }));
    EXPECT_TRUE(next.call("memory.search", {{"query", "truck"}}).contains("result"));
    next.close_input();
    EXPECT_EQ(next.wait_briefly(), 0);
}

// Neither a text that the server refuses nor one that leaves its connections open holds up the others; a
// filter finds what fits however much else is more alike; and what is forgotten has no vector.
TEST(MemoryModel, vectors_are_made_filtered_and_wiped) {
    const TempHome home;
    FakeEmbeddings server;
    server.lingers = true;
    home.write("config.json", server.config(5000));
    MemoryProcess memory(home.path());
    prepare(memory);
    const auto add = [&](const std::string& text, const char* session) {
        const auto added = memory.call("memory.add", {{"text", text}, {"sessionId", session}});
        return std::string(added.at("result").at("traceId").as_string());
    };
    add("some poison", "p");
    const auto bicycle = add("a bicycle", "b");
    for (int i = 0; i < 150; ++i)
        turn(memory, i, "the truck number " + std::to_string(i), "noted");
    wait_for_vectors(memory, 152);
    const auto hits = [&](const json::object& query) {
        std::vector<std::string> ids;
        const auto answer = memory.call("memory.search", query);
        for (const auto& hit : answer.at("result").at("hits").as_array())
            ids.emplace_back(hit.at("refId").as_string());
        return ids;
    };
    EXPECT_EQ(hits({{"query", "automobile"}, {"topK", 3}}).size(), 3U);
    EXPECT_EQ(hits({{"query", "automobile"}, {"sessionId", "b"}}), std::vector{bicycle});
    EXPECT_TRUE(hits({{"query", "automobile"}, {"sessionId", "p"}}).empty()) << "it has no vector";
    // A question in a hurry that the server is too slow for does not keep the others from it.
    server.delay_ms = 200;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    EXPECT_TRUE(memory
                    .call("turn.start", {{"agent", "a"},
                                         {"sessionId", "s"},
                                         {"userText", "automobile"},
                                         {"ts", now},
                                         {"deadlineAt", now + 100}})
                    .contains("result"));
    EXPECT_EQ(hits({{"query", "automobile"}, {"sessionId", "b"}}), std::vector{bicycle});
    // The record of row 2: its number, and three numbers that are none any more.
    const auto record = [&] { return TempHome::read_path(home.file("data/vectors")).substr(256 + 20, 20); };
    EXPECT_NE(record().substr(8), std::string(12, '\0'));
    EXPECT_TRUE(memory.call("memory.forget", {{"id", bicycle}}).contains("result"));
    EXPECT_EQ(record(), std::string("\x02\0\0\0\0\0\0\0", 8) + std::string(12, '\0'));
    EXPECT_TRUE(hits({{"query", "automobile"}, {"sessionId", "b"}}).empty());
    memory.close_input();
    EXPECT_EQ(memory.wait_briefly(), 0);
}

TEST(MemoryModel, the_file_of_vectors_takes_only_vectors) {
    using memory::VectorFile;
    const TempHome home;
    auto file = VectorFile::open(home.file("vectors"), "m").value();
    const std::vector<float> east{2, 0};
    const std::vector<float> north{0, 3};
    const float infinite = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(file.append(1, std::vector<float>{infinite, 1}));
    EXPECT_FALSE(file.append(1, std::vector<float>{std::nanf(""), 1}));
    ASSERT_TRUE(file.append(1, east));
    EXPECT_FALSE(file.append(2, std::vector<float>{1, 2, 3}));
    file.forget(3); // while it is on its way
    ASSERT_TRUE(file.append(2, north));
    ASSERT_TRUE(file.append(3, east));
    ASSERT_TRUE(file.append(4, std::vector<float>{1, 1}));
    const auto like = [&](const std::vector<float>& query, const VectorFile::AdmitRow& admit) {
        bool cut = false;
        std::vector<std::int64_t> rows;
        for (const auto& hit : file.search(query, 2, 0, admit, cut))
            rows.push_back(hit.row);
        EXPECT_FALSE(cut);
        return rows;
    };
    EXPECT_EQ(like(east, {}), (std::vector<std::int64_t>{1, 4}));
    EXPECT_EQ(like(east, [](std::int64_t row) { return row != 1; }), std::vector<std::int64_t>{4});
    file.forget(1);
    EXPECT_EQ(like(east, {}), std::vector<std::int64_t>{4});
    // Of another dimension: all of them anew, also for the next who opens it.
    ASSERT_TRUE(file.clear());
    EXPECT_EQ(file.last_row(), 0);
    ASSERT_TRUE(file.append(1, std::vector<float>{1, 2, 3}));
    EXPECT_EQ(like({1, 2, 3}, {}), std::vector<std::int64_t>{1});
    auto again = VectorFile::open(home.file("vectors"), "m").value();
    EXPECT_EQ(again.size(), 1U);
    EXPECT_EQ(again.dimension(), 3U);
}

} // namespace
} // namespace holdfast::test
