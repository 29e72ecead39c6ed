// The server side of JSON-RPC, line by line: refusals, and exactly one answer to each request.
#include "rpc/dispatcher.hpp"

#include "base/text.hpp"
#include "json/json_write.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace holdfast;
using namespace holdfast::rpc;
using base::cat;
using namespace std::chrono_literals;

namespace {

struct Wire : Connection {
    std::recursive_mutex mutex; // of all that follows
    std::vector<std::string> sent;
    std::vector<std::string> begun; // ids, by ticket
    std::vector<Ticket> withdrawn;
    std::map<Ticket, int> answers;

    void send(std::string_view message) override {
        const std::lock_guard lock(mutex);
        sent.emplace_back(message);
    }
    Ticket begin(std::string_view raw_id) override {
        const std::lock_guard lock(mutex);
        begun.emplace_back(raw_id);
        return static_cast<Ticket>(begun.size());
    }
    void answer(Ticket ticket, std::string_view message) override {
        const std::lock_guard lock(mutex);
        ++answers[ticket];
        send(message);
    }
    void withdraw(Ticket ticket) override {
        const std::lock_guard lock(mutex);
        ++answers[ticket];
        withdrawn.push_back(ticket);
    }
    // Tickets that do not have exactly one end.
    [[nodiscard]] std::size_t unsettled() const {
        std::size_t count = 0;
        for (Ticket ticket = 1; ticket <= begun.size(); ++ticket)
            count += answers.contains(ticket) && answers.at(ticket) == 1 ? 0U : 1U;
        return count;
    }
};

struct Row : Method {
    void (*run)(struct Server& server, Request request);
};

struct Server : Handlers {
    std::vector<Request> kept;
    std::vector<std::string> heard; // notifications
    std::vector<std::string> answers;
    bool batches = false;

    const Method* find(const std::shared_ptr<Connection>& connection, std::string_view name) override;
    void serve(const Method& method, Request request) override {
        static_cast<const Row&>(method).run(*this, std::move(request));
    }
    void take_answer(const std::shared_ptr<Connection>&, json::object message) override {
        answers.push_back(json::to_text(message));
    }
    std::string refuse_batch(const std::shared_ptr<Connection>& connection) override {
        return batches ? std::string() : Handlers::refuse_batch(connection);
    }
};

constexpr MethodTable table(std::to_array<Row>({
    {{"drop"}, [](Server&, Request) {}},
    {{"echo"}, [](Server&, Request request) { request.responder.result(std::move(request.params)); }},
    {{.name = "keep", .cancellable = true, .within = 50ms},
     [](Server& server, Request request) { server.kept.push_back(std::move(request)); }},
    {{"note"}, [](Server& server, Request request) { server.heard.push_back(request.method); }},
    {{"twice"},
     [](Server&, Request request) {
         request.responder.result(1);
         request.responder.error({{"code", 2}});
         request.responder.result(3);
     }},
}));

const Method* Server::find(const std::shared_ptr<Connection>&, std::string_view name) {
    return table.find(name);
}

struct ServerSide : testing::Test {
    Server server;
    Dialect dialect{plain_error, false, CancelStyle::mcp};
    std::shared_ptr<Wire> wire = std::make_shared<Wire>();
    std::unique_ptr<Dispatcher> dispatcher = std::make_unique<Dispatcher>(server, dialect);

    // The one line that answers this one; "" for none.
    std::string ask(std::string_view line, base::Moment now = {}) {
        const auto before = wire->sent.size();
        dispatcher->handle(wire, line, now);
        EXPECT_LE(wire->sent.size(), before + 1);
        return wire->sent.size() > before ? wire->sent.back() : "";
    }
    ~ServerSide() override {
        server.kept.clear();
        EXPECT_EQ(wire->unsettled(), 0U) << "a request has no answer, or two";
    }
};

std::string error_line(std::string_view id, int code, std::string_view message) {
    return write_error(id, code, message);
}

std::string request(std::string_view id, std::string_view method, std::string_view params = "") {
    return write_request(id, method, params);
}

TEST_F(ServerSide, answers_under_the_id_as_it_was_written) {
    for (const char* id : {"1", "1.50", "1e3", "18446744073709551616", R"("a")", R"("\u0061")", "-0"})
        EXPECT_EQ(ask(request(id, "echo", R"({"a":1})")), write_result(id, R"({"a":1})"));
    EXPECT_EQ(wire->begun.at(1), "1.50");
    EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":1,"method":"echo","params":null})"), write_result("1", "{}"));
}

TEST_F(ServerSide, refuses_what_is_no_request_and_changes_nothing) {
    const struct {
        const char* line;
        const char* id;
        int code;
        const char* message;
    } cases[] = {
        {"{", "null", parse_error, "not JSON: incomplete JSON"},
        {"null", "null", invalid_request, "a request is a JSON object"},
        {"[]", "null", invalid_request, "a request is a JSON object"},
        {"{}", "null", invalid_request, "a request has a method, and an id that is a number or a string"},
        {R"({"jsonrpc":"2.0","id":null,"method":"echo"})", "null", invalid_request,
         "a request has a method, and an id that is a number or a string"},
        {R"({"jsonrpc":"2.0","id":7,"method":5})", "7", invalid_request,
         "a request has a method, and an id that is a number or a string"},
        {R"({"jsonrpc":"1.0","id":7,"method":"echo"})", "7", invalid_request, "jsonrpc must be \"2.0\""},
        {R"({"jsonrpc":"2.0","id":7,"method":"none"})", "7", method_not_found, "unknown method none"},
        {R"({"jsonrpc":"2.0","id":7,"method":"echo","params":[]})", "7", invalid_params,
         "params must be an object"},
    };
    for (const auto& one : cases)
        EXPECT_EQ(ask(one.line), error_line(one.id, one.code, one.message)) << one.line;
    // Nested too deep, but JSON: its sender waits for an answer to that id.
    const auto deep = cat(R"({"jsonrpc":"2.0","id":"d","method":"echo","params":{"a":)",
                          std::string(300, '['), std::string(300, ']'), "}}");
    EXPECT_EQ(ask(deep), error_line(R"("d")", invalid_request, "the request is nested too deep"));
    dispatcher->refuse_oversize(wire, 10);
    EXPECT_EQ(wire->sent.back(),
              error_line("null", invalid_request, "the line is longer than 10 bytes; it was skipped"));
}

TEST_F(ServerSide, an_id_that_is_too_long_is_begun_as_null) {
    const auto id = cat('"', std::string(Connection::longest_id, 'x'), '"');
    EXPECT_EQ(ask(request(id, "echo")),
              error_line(id, invalid_request, cat("an id takes at most ", Connection::longest_id, " bytes")));
    EXPECT_EQ(wire->begun.back(), "null");
    dialect.long_id_as_null = true;
    EXPECT_EQ(
        ask(request(id, "echo")),
        error_line("null", invalid_request, cat("an id takes at most ", Connection::longest_id, " bytes")));
}

TEST_F(ServerSide, notifications_are_served_and_never_answered) {
    EXPECT_EQ(ask(R"({"jsonrpc":"2.0","method":"note"})"), "");
    EXPECT_EQ(server.heard, std::vector<std::string>{"note"});
    for (const char* line : {R"({"jsonrpc":"2.0","method":"none"})", R"({"jsonrpc":"2.0","method":"drop"})",
                             R"({"jsonrpc":"2.0","method":"twice"})", R"({"jsonrpc":"1.0","method":"note"})",
                             R"({"jsonrpc":"2.0","method":"echo","params":[]})"})
        EXPECT_EQ(ask(line), "") << line;
    EXPECT_TRUE(wire->begun.empty());
}

TEST_F(ServerSide, answers_to_requests_of_its_own_are_handed_over) {
    EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":"srv-1","result":{"a":1}})"), "");
    EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":"srv-2","error":{"code":1}})"), "");
    EXPECT_EQ(server.answers.size(), 2U);
    EXPECT_TRUE(wire->begun.empty());
}

TEST_F(ServerSide, the_first_answer_counts_and_silence_is_answered) {
    EXPECT_EQ(ask(request("1", "twice")), write_result("1", "1"));
    EXPECT_EQ(ask(request("2", "drop")), error_line("2", server_error, "the request was given up"));
}

TEST_F(ServerSide, a_cancelled_request_is_told_and_a_late_answer_goes_nowhere) {
    (void)ask(request("1", "keep"));
    (void)ask(request(R"("1")", "keep"));
    bool told = false;
    server.kept.at(0).responder.on_abandoned([&] { told = true; });
    // Another client's id, another id, and then the one.
    const auto other = std::make_shared<Wire>();
    dispatcher->handle(other,
                       R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
    (void)ask(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})");
    EXPECT_FALSE(server.kept.at(0).responder.over());
    (void)ask(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
    EXPECT_TRUE(told);
    EXPECT_TRUE(server.kept.at(0).responder.over());
    EXPECT_FALSE(server.kept.at(1).responder.over()) << "1 and \"1\" are two ids";
    EXPECT_EQ(wire->withdrawn, std::vector<Connection::Ticket>{1});
    server.kept.at(0).responder.result(1);
    EXPECT_TRUE(wire->sent.empty());
    // Again, and after the end of the other: nothing happens.
    server.kept.at(1).responder.result(2);
    (void)ask(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}})");
    (void)ask(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
    EXPECT_EQ(wire->sent.size(), 1U);
}

TEST_F(ServerSide, an_answer_a_cancellation_and_a_deadline_at_once_are_one_end) {
    constexpr int rounds = 300;
    for (int round = 0; round < rounds; ++round) {
        const auto id = std::to_string(round);
        dispatcher->handle(wire, request(id, "keep"), 0ms);
        std::barrier together(2);
        std::thread answering([&, kept = std::move(server.kept.back())]() mutable {
            together.arrive_and_wait();
            kept.responder.result(1);
        });
        together.arrive_and_wait();
        if (round % 2 == 0)
            dispatcher->expire(50ms);
        else
            dispatcher->handle(wire, cat(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)",
                                         R"({"requestId":)", id, "}}"));
        answering.join();
        server.kept.clear();
    }
    EXPECT_EQ(wire->begun.size(), std::size_t{rounds});
    EXPECT_EQ(wire->unsettled(), 0U);
    EXPECT_EQ(dispatcher->next_deadline(), base::never);
}

TEST_F(ServerSide, where_the_protocol_answers_cancelled_requests_it_is_answered) {
    dialect.cancel = CancelStyle::lsp;
    (void)ask(request("1", "keep"));
    EXPECT_EQ(ask(R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}})"),
              error_line("1", request_cancelled, "cancelled by the client"));
}

TEST_F(ServerSide, without_a_way_to_cancel_such_a_notification_is_a_method_like_any_other) {
    dialect.cancel = CancelStyle::silent;
    (void)ask(request("1", "keep"));
    (void)ask(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
    EXPECT_FALSE(server.kept.at(0).responder.over());
    server.kept.at(0).responder.result(1);
}

TEST_F(ServerSide, a_deadline_that_passes_is_an_error_and_only_then) {
    EXPECT_EQ(dispatcher->next_deadline(), base::never);
    (void)ask(request("1", "keep"), 1000ms);
    (void)ask(request("2", "keep"), 1010ms);
    EXPECT_EQ(dispatcher->next_deadline(), 1050ms);
    server.kept.at(0).responder.result(1);
    EXPECT_EQ(dispatcher->next_deadline(), 1060ms) << "what was answered has none";
    dispatcher->expire(1059ms);
    EXPECT_EQ(wire->sent.size(), 1U);
    bool told = false;
    server.kept.at(1).responder.on_abandoned([&] { told = true; });
    dispatcher->expire(1060ms);
    EXPECT_TRUE(told);
    EXPECT_EQ(wire->sent.back(), error_line("2", server_error, "the request was not answered in time"));
    server.kept.at(1).responder.result(2);
    EXPECT_EQ(wire->sent.size(), 2U);
    EXPECT_EQ(dispatcher->next_deadline(), base::never);
}

TEST_F(ServerSide, a_batch_is_answered_as_one_in_the_order_of_its_requests) {
    server.batches = true;
    (void)ask(cat('[', request("1", "keep"), ", ", request("1.50", "echo"),
                  R"(,{"jsonrpc":"2.0","method":"note"},)", R"({"jsonrpc":"2.0","id":9,"result":1},7,)",
                  request("2", "keep"), ']'));
    EXPECT_EQ(wire->begun, std::vector<std::string>{"[1,1.50,null,2]"});
    EXPECT_TRUE(wire->sent.empty());
    EXPECT_EQ(server.heard.size(), 1U);
    EXPECT_EQ(server.answers.size(), 1U);
    server.kept.at(1).responder.result(22);
    server.kept.at(0).responder.result(11);
    ASSERT_EQ(wire->sent.size(), 1U);
    EXPECT_EQ(wire->sent.back(), cat('[', write_result("1", "11"), ',', write_result("1.50", "{}"), ',',
                                     error_line("null", invalid_request, "a request is a JSON object"), ',',
                                     write_result("2", "22"), ']'));
    // Requests of a batch are cancelled like others; when none is left to be answered, nothing is.
    server.kept.clear();
    (void)ask(cat('[', request("5", "keep"), ']'));
    EXPECT_EQ(ask(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})"), "");
    EXPECT_EQ(ask(R"([{"jsonrpc":"2.0","method":"note"}])"), "");
    EXPECT_EQ(ask("[]"), error_line("null", invalid_request, "the batch is empty"));
}

TEST_F(ServerSide, a_batch_whose_ids_are_too_many_to_be_kept_is_refused) {
    server.batches = true;
    std::string many;
    for (int id = 0; id < 1000; ++id)
        many += cat(id == 0 ? '[' : ',', request(std::to_string(100'000 + id), "echo"));
    const auto answer = ask(many + ']');
    EXPECT_NE(answer.find("send fewer requests at a time"), std::string::npos) << answer;
    EXPECT_EQ(wire->begun.back(), "null");
}

TEST_F(ServerSide, what_a_dead_process_owed_is_answered_by_id_and_by_batch) {
    const std::string words = "the process that served this request ended before it answered";
    EXPECT_EQ(dispatcher->lost("1.50"), error_line("1.50", server_error, words));
    EXPECT_EQ(dispatcher->lost(R"([1,"b"])"), cat('[', error_line("1", server_error, words), ',',
                                                  error_line(R"("b")", server_error, words), ']'));
}

TEST_F(ServerSide, a_call_from_inside_passes_objects) {
    std::vector<Reply> replies;
    const auto call = [&](std::string_view method, json::object params) {
        dispatcher->call(wire, method, std::move(params),
                         [&](Reply reply) { replies.push_back(std::move(reply)); });
    };
    call("echo", {{"n", std::uint64_t{1} << 63U}});
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_FALSE(replies[0].failed);
    ASSERT_TRUE(std::holds_alternative<json::value>(replies[0].body)) << "it was written as text";
    EXPECT_EQ(std::move(replies[0]).value().at("n"), std::uint64_t{1} << 63U);
    call("none", {});
    call("drop", {});
    ASSERT_EQ(replies.size(), 3U);
    EXPECT_EQ(std::move(replies[1]).value().at("code"), int{method_not_found});
    EXPECT_EQ(std::move(replies[2]).value().at("message"), "the request was given up");
    EXPECT_TRUE(wire->begun.empty() && wire->sent.empty());
}

TEST_F(ServerSide, a_responder_outlives_its_dispatcher) {
    (void)ask(request("1", "keep"));
    dispatcher.reset();
    server.kept.at(0).responder.result(1);
    EXPECT_EQ(wire->sent.size(), 1U);
}

} // namespace
