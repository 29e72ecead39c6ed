// The contract inside one process: what its methods do when their write is run a second time, when a call is
// repeated, and with values that only look right.
#include "memory/contract/contract.hpp"
#include "memory/contract/local_call.hpp"
#include "memory/ids/ids.hpp"
#include "support/memory_home.hpp"
#include "support/patience.hpp"

#include <gtest/gtest.h>

#include <future>
#include <latch>

namespace holdfast::memory {
namespace {

using test::TempHome;
namespace json = boost::json; // not ours: a second opinion

class MemoryCalls : public testing::Test {
protected:
    MemoryCalls()
        : service_(Service::start({.home = home_.path(), .agent = "test"}).value())
        , contract_(*service_, host_calls_, host_embeddings_) {}
    ~MemoryCalls() override { service_->close(); }

    std::future<LocalAnswer> begin(std::string_view method, json::object params) {
        auto promise = std::make_shared<std::promise<LocalAnswer>>();
        auto answer = promise->get_future();
        call_local(contract_, method, std::move(params), "test",
                   [promise](LocalAnswer given) { promise->set_value(std::move(given)); });
        return answer;
    }
    LocalAnswer call(std::string_view method, json::object params = {}) {
        return begin(method, std::move(params)).get();
    }
    json::value result(std::string_view method, json::object params = {}) {
        auto answer = call(method, std::move(params));
        EXPECT_TRUE(answer.ok()) << method << ": " << answer.message;
        return std::move(answer.result);
    }
    void open(const std::string& session, json::object more = {}) {
        more["agent"] = "a";
        more["sessionId"] = session;
        (void)result("session.open", std::move(more));
    }

    const TempHome home_;
    std::unique_ptr<Service> service_;
    HostCalls host_calls_;
    HostEmbeddings host_embeddings_{host_calls_};
    Contract contract_;
};

// The writer is held at a gate while others queue up behind it, so that they make one batch; the last of them
// fails and takes the batch with it.
class FailingBatch {
public:
    explicit FailingBatch(Service& service)
        : service_(service) {
        service_.submit(
            [this](WriteContext&) -> Result<void> {
                begun_.count_down();
                gate_.wait();
                return {};
            },
            [](const Result<void>&) {});
        begun_.wait(); // so that this write is a batch of its own, and what is submitted next is in another
    }
    void run(bool& failed) {
        std::promise<bool> seen;
        service_.submit([](WriteContext&) -> Result<void> { return fail(Errc::io, "on purpose"); },
                        [&seen](const Result<void>& done) { seen.set_value(!done); });
        gate_.count_down();
        failed = seen.get_future().get();
    }

private:
    Service& service_;
    std::latch begun_{1};
    std::latch gate_{1};
};

json::object subagent(const std::string& session, int ts) {
    return {{"sessionId", session}, {"task", "count"}, {"result", "3"}, {"ts", ts}};
}

json::object turn_end(const std::string& session, const json::value& episode, int ts) {
    return {{"agent", "a"},     {"sessionId", session},       {"episodeId", episode},
            {"agentText", "t"}, {"toolCalls", json::array()}, {"ts", ts}};
}

TEST_F(MemoryCalls, a_write_whose_batch_failed_is_as_good_the_second_time) {
    open("s");
    open("t");
    const auto noted =
        result("turn.start", {{"agent", "a"}, {"sessionId", "t"}, {"userText", "u"}, {"ts", 1}});
    const auto episode = noted.at("query").at("episodeId");
    (void)result("turn.end", turn_end("t", episode, 2));
    FailingBatch batch(*service_);
    auto recorded = begin("subagent.record", subagent("s", 5));
    auto started = begin("turn.start", {{"agent", "a"}, {"sessionId", "n"}, {"userText", "new"}, {"ts", 6}});
    auto noted_again = begin("memory.add", {{"text", "a note"}, {"sessionId", "m"}, {"ts", 7}});
    auto praised =
        begin("feedback.submit",
              {{"episodeId", episode}, {"channel", "explicit"}, {"polarity", "positive"}, {"magnitude", 1}});
    auto closed = begin("session.close", {{"sessionId", "t"}});
    bool failed = false;
    batch.run(failed);
    EXPECT_TRUE(failed);
    for (auto* each : {&recorded, &started, &noted_again, &praised, &closed}) {
        const auto answer = each->get();
        EXPECT_TRUE(answer.ok()) << answer.code << ": " << answer.message;
        if (each == &recorded && answer.ok()) {
            EXPECT_EQ(result("memory.timeline", {{"episodeId", answer.result.at("episodeId")}})
                          .at("traces")
                          .as_array()
                          .size(),
                      1U);
        }
    }
    EXPECT_EQ(service_->store().totals().traces, 3);
}

// The turn of another session that the feedback found in the first run is forgotten by then.
TEST_F(MemoryCalls, feedback_on_an_episode_looks_for_its_last_turn_each_time) {
    open("s");
    const auto episode =
        result("turn.start", {{"agent", "a"}, {"sessionId", "s"}, {"userText", "u"}, {"ts", 1}})
            .at("query")
            .at("episodeId");
    (void)result("turn.end", turn_end("s", episode, 2));
    FailingBatch batch(*service_);
    // Rolled back with the batch; run alone it fails, so what it stored is never there.
    auto runs = std::make_shared<int>(0);
    service_->submit(
        [runs](WriteContext& context) -> Result<void> {
            if (++*runs > 1)
                return fail(Errc::io, "on purpose");
            return context.database.exec(
                "INSERT INTO traces(row, id, session, episode, ts, kind, user_text,"
                " agent_text) SELECT 99, 'tr_gone', session, row, 9, 'turn', 'x', 'y'"
                " FROM episodes");
        },
        [](const Result<void>&) {});
    auto praised =
        begin("feedback.submit",
              {{"episodeId", episode}, {"channel", "explicit"}, {"polarity", "positive"}, {"magnitude", 1}});
    bool failed = false;
    batch.run(failed);
    const auto answer = praised.get();
    ASSERT_TRUE(answer.ok()) << answer.code << ": " << answer.message;
    EXPECT_NE(answer.result.at("traceId"), "tr_gone");
}

TEST_F(MemoryCalls, feedback_without_a_magnitude_is_refused_before_anything_is_written) {
    for (json::object params : {json::object{{"magnitude", nullptr}}, json::object{}}) {
        params["channel"] = "explicit";
        params["polarity"] = "positive";
        const auto answer = call("feedback.submit", params);
        EXPECT_EQ(answer.code, "invalid_argument") << answer.message;
    }
}

json::object turn_start(const std::string& session, const std::string& text, int ts) {
    return {{"agent", "a"}, {"sessionId", session}, {"userText", text}, {"ts", ts}};
}

TEST_F(MemoryCalls, a_turn_without_its_user_text_is_stored_once_however_often_it_is_sent) {
    const auto episode = result("turn.start", turn_start("s", "the question", 1)).at("query").at("episodeId");
    const auto first = result("turn.end", turn_end("s", episode, 2));
    EXPECT_EQ(result("turn.end", turn_end("s", episode, 2)), first);
    // Also when the next turn has begun: its question stays its own.
    (void)result("turn.start", turn_start("s", "the next question", 3));
    EXPECT_EQ(result("turn.end", turn_end("s", episode, 2)), first);
    const auto second = result("turn.end", turn_end("s", episode, 4));
    EXPECT_NE(second, first);
    const auto traces = result("memory.timeline", {{"episodeId", episode}}).at("traces");
    ASSERT_EQ(traces.as_array().size(), 2U);
    EXPECT_EQ(traces.at(0).at("userText"), "the question");
    EXPECT_EQ(traces.at(1).at("userText"), "the next question");
    // Another answer at the same time is another turn.
    auto other = turn_end("s", episode, 4);
    other["agentText"] = "something else";
    EXPECT_NE(result("turn.end", other), second);
}

TEST_F(MemoryCalls, what_turn_start_said_waits_for_its_own_turn) {
    const auto episode = result("turn.start", turn_start("s", "the question", 1)).at("query").at("episodeId");
    auto helper = subagent("s", 2);
    helper["episodeId"] = episode;
    (void)result("subagent.record", helper);
    EXPECT_EQ(result("memory.add", {{"text", "a note"}, {"sessionId", "s"}, {"ts", 3}}).at("episodeId"),
              episode);
    const auto id = result("turn.end", turn_end("s", episode, 4)).at("traceId");
    EXPECT_EQ(result("memory.get_trace", {{"id", id}}).at("userText"), "the question");
}

TEST_F(MemoryCalls, a_turn_is_not_begun_in_an_episode_of_another_session) {
    const auto episode = result("turn.start", turn_start("s", "the question", 1)).at("query").at("episodeId");
    open("other");
    for (const char* session : {"other", "unheard of"}) {
        auto strange = turn_start(session, "another question", 2);
        strange["episodeId"] = episode;
        EXPECT_EQ(call("turn.start", strange).code, "episode_not_found");
    }
    EXPECT_EQ(service_->store().totals().sessions, 2) << "a refused call leaves nothing behind";
    const auto id = result("turn.end", turn_end("s", episode, 3)).at("traceId");
    EXPECT_EQ(result("memory.get_trace", {{"id", id}}).at("userText"), "the question");
}

// Also while the writer, or everybody who could search, is busy with something else.
TEST_F(MemoryCalls, turn_start_is_answered_by_its_deadline_and_its_episode_is_the_one_that_was_told) {
    const auto known = result("turn.start", turn_start("s", "the question", 1)).at("query").at("episodeId");
    std::latch gate(1);
    service_->submit(
        [&](WriteContext&) -> Result<void> {
            gate.wait();
            return {};
        },
        [](const Result<void>&) {});
    for (int i = 0; i < 8; ++i)
        service_->run(nullptr, [&](bool) { gate.wait(); });
    const auto begin_by_deadline = [&](const std::string& session) {
        auto params = turn_start(session, "in a hurry", 2);
        params["deadlineAt"] = now_ms() + 50;
        return begin("turn.start", std::move(params));
    };
    auto old_session = begin_by_deadline("s");
    auto new_session = begin_by_deadline("n");
    for (auto* turn : {&old_session, &new_session}) {
        const bool in_time =
            turn->wait_for(test::patient(std::chrono::seconds(20))) == std::future_status::ready;
        EXPECT_TRUE(in_time);
        if (!in_time)
            gate.count_down(); // or the test would not end
        ASSERT_TRUE(in_time);
    }
    gate.count_down();
    for (auto* turn : {&old_session, &new_session}) {
        const auto answer = turn->get();
        ASSERT_TRUE(answer.ok()) << answer.message;
        EXPECT_EQ(answer.result.at("cut"), true);
        const std::string session(answer.result.at("query").at("sessionId").as_string());
        const auto episode = answer.result.at("query").at("episodeId");
        const auto id = result("turn.end", turn_end(session, episode, 3)).at("traceId");
        EXPECT_EQ(result("memory.get_trace", {{"id", id}}).at("userText"), "in a hurry");
    }
    EXPECT_EQ(service_->store().totals().episodes, 3) << known;
}

// One client's long queue is not in front of another's question.
TEST_F(MemoryCalls, those_who_ask_much_wait_for_themselves) {
    std::latch begun(4);
    std::latch gate(1);
    std::latch asked_once(1);
    std::atomic<int> done = 0;
    const int much = 0;
    const int little = 0;
    for (int i = 0; i < 4; ++i) // as many as there are workers
        service_->run(&much, [&](bool) {
            begun.count_down();
            gate.wait();
        });
    begun.wait();
    for (int i = 0; i < 1000; ++i)
        service_->run(&much, [&](bool) { ++done; });
    int before = -1;
    service_->run(&little, [&](bool) {
        before = done;
        asked_once.count_down();
    });
    gate.count_down();
    asked_once.wait();
    EXPECT_LT(before, 100);
    EXPECT_TRUE(service_->drain(20'000));
    EXPECT_EQ(done, 1000);
}

TEST_F(MemoryCalls, an_episode_is_opened_again_by_its_id_in_its_own_session_only) {
    open("s");
    open("t");
    (void)result("episode.open", {{"sessionId", "s"}, {"episodeId", "e"}});
    EXPECT_EQ(call("episode.open", {{"sessionId", "t"}, {"episodeId", "e"}}).code, "conflict");
    (void)result("episode.close", {{"episodeId", "e"}});
    EXPECT_EQ(result("episode.open", {{"sessionId", "s"}, {"episodeId", "e"}, {"userMessage", "once more"}})
                  .at("episodeId"),
              "e");
    EXPECT_TRUE(result("memory.episodes").at("episodes").at(0).at("closedAt").is_null());
    const auto id = result("turn.end", turn_end("s", "e", 2)).at("traceId");
    EXPECT_EQ(result("memory.get_trace", {{"id", id}}).at("userText"), "once more");
    EXPECT_EQ(service_->store().totals().episodes, 1);
}

TEST_F(MemoryCalls, limits_of_tiers_are_numbers_and_data_is_an_object) {
    (void)result("memory.add", {{"text", "the kettle"}, {"ts", 1}});
    const auto search = [&](const json::value& tier) {
        return call("memory.search", {{"query", "kettle"}, {"topK", {{"tier2", tier}}}});
    };
    EXPECT_EQ(search(2).result.at("hits").as_array().size(), 1U);
    EXPECT_EQ(search(2.0).result.at("hits").as_array().size(), 1U);
    EXPECT_EQ(search(1e30).result.at("hits").as_array().size(), 1U);
    EXPECT_EQ(search(-1).result.at("hits").as_array().size(), 0U);
    for (const json::value& bad : {json::value("2"), json::value(true), json::value(json::array())})
        EXPECT_EQ(search(bad).code, "invalid_argument") << bad;
    for (const json::value& bad : {json::value("x"), json::value(5), json::value(json::array())})
        EXPECT_EQ(call("policy.add", {{"title", "t"}, {"body", "b"}, {"data", bad}}).code,
                  "invalid_argument");
}

TEST_F(MemoryCalls, a_forgotten_turn_is_counted_no_more) {
    const auto episode = result("turn.start", turn_start("s", "the question", 1)).at("query").at("episodeId");
    const auto id = result("turn.end", turn_end("s", episode, 2)).at("traceId");
    (void)result("turn.end", turn_end("s", episode, 3));
    EXPECT_EQ(result("memory.episodes").at("episodes").at(0).at("turns"), 2);
    (void)result("memory.forget", {{"id", id}});
    EXPECT_EQ(result("memory.episodes").at("episodes").at(0).at("turns"), 1);
    EXPECT_EQ(result("memory.sessions").at("sessions").at(0).at("turns"), 1);
}

TEST_F(MemoryCalls, a_namespace_is_the_same_in_any_order_of_its_members) {
    const auto shape = [](const char* text) { return json::parse(text); };
    open("s", {{"namespace", shape(R"({"user":"ada","project":{"b":1,"a":[{"y":1,"x":2}]}})")}});
    auto begin_turn = turn_start("s", "the kettle", 1);
    const auto episode = result("turn.start", begin_turn).at("query").at("episodeId");
    const auto id = result("turn.end", turn_end("s", episode, 2)).at("traceId");
    const auto same = shape(R"({"project":{"a":[{"x":2,"y":1}],"b":1},"user":"ada"})");
    const auto other = shape(R"({"project":{"a":[{"x":2,"y":1}],"b":2},"user":"ada"})");
    const auto found = [&](const json::value& name_space) {
        return result("memory.search", {{"query", "kettle"}, {"namespace", name_space}})
            .at("hits")
            .as_array()
            .size();
    };
    EXPECT_EQ(found(same), 1U);
    EXPECT_EQ(found(other), 0U);
    EXPECT_TRUE(result("memory.get_trace", {{"id", id}, {"namespace", same}}).is_object());
    EXPECT_TRUE(result("memory.get_trace", {{"id", id}, {"namespace", other}}).is_null());
    EXPECT_TRUE(call("memory.timeline", {{"episodeId", episode}, {"namespace", same}, {"limit", 5}}).ok());
    // And what comes in as a line.
    (void)result(
        "transfer.import",
        {{"records",
          {{{"type", "session"}, {"id", "i"}, {"agent", "a"}, {"namespace", shape(R"({"z":1,"a":2})")}},
           {{"ts", 3}, {"sessionId", "i"}, {"text", "a teapot"}}}}});
    EXPECT_EQ(result("memory.search", {{"query", "teapot"}, {"namespace", shape(R"({"a":2,"z":1})")}})
                  .at("hits")
                  .as_array()
                  .size(),
              1U);
}

TEST_F(MemoryCalls, a_time_in_a_filter_is_a_number_or_refused) {
    constexpr std::int64_t noon = 1'794'889'764'822;
    (void)result("memory.add", {{"text", "the kettle before"}, {"ts", noon - 5000}});
    (void)result("memory.add", {{"text", "the kettle after"}, {"ts", noon + 5000}});
    const auto found = [&](const json::object& filters) {
        return result("memory.search", {{"query", "kettle"}, {"filters", filters}})
            .at("hits")
            .as_array()
            .size();
    };
    EXPECT_EQ(found({}), 2U);
    for (const json::value& time :
         {json::value(noon), json::value(static_cast<double>(noon)), json::value(noon + 0.5)}) {
        EXPECT_EQ(found({{"since", time}}), 1U) << time;
        EXPECT_EQ(found({{"until", time}}), 1U) << time;
    }
    EXPECT_EQ(found({{"since", nullptr}, {"until", nullptr}, {"agent", nullptr}}), 2U);
    for (const json::object& filters : {json::object{{"since", "yesterday"}}, json::object{{"until", true}},
                                        json::object{{"since", 1e300}}, json::object{{"agent", 7}}})
        EXPECT_EQ(call("memory.search", {{"query", "kettle"}, {"filters", filters}}).code, "invalid_argument")
            << filters;
}

} // namespace
} // namespace holdfast::memory
