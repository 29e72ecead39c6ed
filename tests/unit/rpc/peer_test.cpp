// The conversation with a helper, byte by byte, without a helper.
#include "rpc/peer.hpp"
#include "json/json_scan.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace holdfast;
using namespace holdfast::rpc;
using base::cat;
using holdfast::json::max_depth;
using namespace std::chrono_literals;

namespace {

struct Recorder : PeerEvents {
    std::vector<std::string> log;
    std::map<std::uint64_t, int> answers; // by token
    std::map<std::uint64_t, Errc> failures;
    std::vector<RequestId> requests;
    std::function<void(RequestId)> serve;

    void on_answer(CallId, std::uint64_t token, const Answer& answer) override {
        ++answers[token];
        if (answer.kind == Answer::Kind::failed) {
            failures[token] = answer.failure.code;
            log.push_back(
                cat("failed ", token, ' ', name_of(answer.failure.code), ": ", answer.failure.message));
        } else {
            log.push_back(
                cat(answer.kind == Answer::Kind::result ? "result " : "error ", token, ' ', answer.json));
        }
    }
    void on_notification(RegistrationId, HoldTag hold, std::string_view method,
                         std::string_view params) override {
        log.push_back(cat("note ", hold, ' ', method, ' ', params));
    }
    void on_request(RegistrationId, HoldTag hold, RequestId request, std::string_view method,
                    std::string_view params) override {
        log.push_back(cat("asked ", hold, ' ', method, ' ', params));
        requests.push_back(request);
        if (serve)
            serve(request);
    }
    void on_request_gone(HoldTag hold, RequestId) override { log.push_back(cat("gone ", hold)); }
    void on_noise(std::string_view why, std::string_view) override { log.push_back(cat("noise: ", why)); }
};

struct Talk {
    PeerOptions options;
    Registrations registrations;
    Recorder events;
    std::optional<Peer> made;
    base::Moment now = 10s;

    Peer& peer() {
        if (!made)
            made.emplace(options, 3, registrations, events);
        return *made;
    }
    CallId call(HoldTag hold, std::uint64_t token, base::Moment deadline = base::never,
                std::string_view params = "{}") {
        const auto id = peer().call(hold, "m", params, deadline, token);
        return id ? *id : 0;
    }
    void line(std::string_view text) { peer().receive(cat(text, '\n'), now); }
    std::string written() {
        std::string all;
        for (;;) {
            const std::string_view piece = peer().output();
            if (piece.empty())
                return all;
            all += piece;
            peer().consume(piece.size());
        }
    }
};

using Strings = std::vector<std::string>;

TEST(Peer, AnswersReachTheirCallsInAnyOrder) {
    Talk talk;
    EXPECT_EQ(talk.call(1, 100), 1U);
    EXPECT_EQ(talk.call(1, 101), 2U);
    EXPECT_EQ(talk.written(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{}}\n"
                              "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\",\"params\":{}}\n");
    talk.line(R"({"jsonrpc":"2.0","id":2,"result":{"two":2}})");
    talk.line(R"({"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}})");
    EXPECT_EQ(talk.events.log,
              (Strings{R"(result 101 {"two":2})", R"(error 100 {"code":-5,"message":"no"})"}));
    EXPECT_EQ(talk.peer().in_flight(), 0U);
}

TEST(Peer, NoiseOfAnyKindHarmsNothing) {
    Talk talk;
    talk.call(1, 100);
    for (const char* noise :
         {"null", "[1,2]", "\"text\"", "INFO starting", "{\"half\":", "\x01\xFF\xFE", "{}", "12"})
        talk.line(noise);
    talk.line(R"({"jsonrpc":"2.0","id":99,"result":1})"); // an answer nobody asked for
    talk.line(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}})");
    talk.line(R"({"jsonrpc":"2.0","id":1,"result":"fine"})");
    talk.line(R"({"jsonrpc":"2.0","id":1,"result":"twice"})");
    EXPECT_EQ(talk.peer().counters().noise, 8U);
    EXPECT_EQ(talk.peer().counters().late_answers, 3U);
    EXPECT_EQ(talk.events.answers[100], 1);
    EXPECT_EQ(talk.events.log.back(), "result 100 \"fine\"");
}

TEST(Peer, ATooLargeAnswerFailsItsCallAtOnce) {
    Talk talk;
    talk.options.limits.max_message = 1000;
    talk.call(1, 100);
    talk.call(1, 101);
    talk.line(cat(R"({"jsonrpc":"2.0","id":1,"result":")", std::string(5000, 'x'), "\"}"));
    EXPECT_EQ(talk.events.failures[100], Errc::overflow);
    EXPECT_FALSE(talk.events.answers.contains(101));
    EXPECT_EQ(talk.peer().counters().oversize, 1U);
}

TEST(Peer, AnAnswerWithNothingInItIsAnErrorAndNotAWait) {
    Talk talk;
    talk.call(1, 100);
    talk.line(R"({"jsonrpc":"2.0","id":1})");
    EXPECT_EQ(talk.events.failures[100], Errc::protocol);
}

TEST(Peer, WhatIsNestedTooDeepIsToldToWhoWaitsAtOnce) {
    const std::string deep = std::string(max_depth + 1, '[') + std::string(max_depth + 1, ']');
    Talk talk;
    for (std::uint64_t token = 100; token < 104; ++token)
        talk.call(1, token);
    (void)talk.written();
    talk.line(cat(R"({"jsonrpc":"2.0","id":1,"result":)", deep, "}"));
    talk.line(cat(R"({"jsonrpc":"2.0","result":)", deep, R"(,"id":2})"));
    talk.line(cat(R"({"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m","data":)", deep, "}}"));
    for (std::uint64_t token = 100; token < 103; ++token)
        EXPECT_EQ(talk.events.failures[token], Errc::protocol) << token;
    EXPECT_NE(talk.events.log.back().find("nested deeper than 1024 levels"), std::string::npos)
        << talk.events.log.back();
    talk.line(cat(R"({"jsonrpc":"2.0","id":99,"result":)", deep, "}"));
    EXPECT_EQ(talk.peer().counters().late_answers, 1U);
    // A request gets an error, too; a notification is noise.
    talk.registrations.serve(1, "x");
    talk.registrations.subscribe(1, "y");
    talk.line(cat(R"({"jsonrpc":"2.0","id":"srv-1","method":"x","params":)", deep, "}"));
    const auto refused = talk.written();
    EXPECT_NE(refused.find(R"("id":"srv-1","error":{"code":-32600)"), std::string::npos) << refused;
    talk.line(cat(R"({"jsonrpc":"2.0","method":"y","params":)", deep, "}"));
    EXPECT_EQ(talk.peer().counters().noise, 1U);
    EXPECT_TRUE(talk.events.requests.empty());
    // What a value may be as deep as goes through.
    const auto deepest = deep.substr(1, deep.size() - 2);
    talk.line(cat(R"({"jsonrpc":"2.0","id":4,"result":)", deepest, "}"));
    EXPECT_EQ(talk.events.log.back(), cat("result 103 ", deepest));
    const auto asked = talk.peer().call(1, "m", deep, base::never, 1);
    EXPECT_EQ(asked.error().code, Errc::invalid_argument);
    EXPECT_NE(asked.error().message.find("levels deep"), std::string::npos) << asked.error().message;
}

TEST(Peer, DeadlinesEndCallsOnceAndLateAnswersAreDropped) {
    Talk talk;
    talk.call(1, 100, 11s);
    talk.call(1, 101, 12s);
    talk.call(1, 102);
    EXPECT_EQ(talk.peer().next_deadline(), 11s);
    talk.written();
    talk.peer().expire(10999ms);
    EXPECT_TRUE(talk.events.log.empty());
    talk.peer().expire(11s);
    EXPECT_EQ(talk.events.failures[100], Errc::timed_out);
    EXPECT_EQ(talk.peer().next_deadline(), 12s);
    talk.line(R"({"jsonrpc":"2.0","id":1,"result":1})");
    EXPECT_EQ(talk.events.answers[100], 1);
    talk.line(R"({"jsonrpc":"2.0","id":2,"result":1})");
    EXPECT_EQ(talk.peer().next_deadline(), base::never);
}

TEST(Peer, CancellingTellsTheHelperInItsDialect) {
    for (const auto& [style, words] : std::map<CancelStyle, std::string>{
             {CancelStyle::silent, ""},
             {CancelStyle::lsp,
              "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n"},
             {CancelStyle::mcp, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                "cancelled\",\"params\":{\"requestId\":1}}\n"}}) {
        Talk talk;
        talk.options.cancel = style;
        const CallId id = talk.call(1, 100);
        talk.written();
        EXPECT_TRUE(talk.peer().cancel(id));
        EXPECT_FALSE(talk.peer().cancel(id));
        EXPECT_EQ(talk.events.failures[100], Errc::cancelled);
        EXPECT_EQ(talk.written(), words);
    }
}

TEST(Peer, ACallThatWasNotSentYetIsTakenBack) {
    Talk talk;
    talk.options.cancel = CancelStyle::lsp;
    const std::string big = cat("[\"", std::string(100'000, 'x'), "\"]");
    talk.call(1, 100, base::never, big);                   // being written
    const CallId waiting = talk.call(1, 101, base::never); // in a lane
    talk.call(1, 102, base::never);
    talk.peer().cancel(waiting);
    const std::string all = talk.written();
    EXPECT_EQ(all.find("\"id\":2,"), std::string::npos);
    EXPECT_NE(all.find("\"id\":3,"), std::string::npos);
    EXPECT_EQ(all.find("cancelRequest"), std::string::npos);
}

TEST(Peer, AClosedTransportFailsEveryCallWithItsGeneration) {
    Talk talk;
    for (std::uint64_t token = 1; token <= 1000; ++token)
        talk.call(token % 7, token, 20s);
    talk.peer().fail_all("the helper exited with status 1");
    EXPECT_EQ(talk.events.answers.size(), 1000U);
    EXPECT_EQ(talk.events.log.front(),
              "failed 1 closed: transport closed, generation 3: the helper exited with status 1");
    EXPECT_EQ(talk.peer().call(1, "m", "", base::never, 5).error().message, "transport closed, generation 3");
    EXPECT_EQ(talk.peer().output(), "");
    EXPECT_FALSE(talk.peer().has_output());
    EXPECT_EQ(talk.peer().next_deadline(), base::never);
}

TEST(Peer, WhatTheHelperCannotHaveSeenIsToldApart) {
    struct Watching : Recorder {
        std::map<std::uint64_t, bool> never_sent;
        void on_answer(CallId, std::uint64_t token, const Answer& answer) override {
            never_sent[token] = answer.never_sent;
        }
    };
    Registrations registrations;
    Watching events;
    Peer peer({}, 1, registrations, events);
    const std::string big = cat("[\"", std::string(100'000, 'x'), "\"]");
    ASSERT_TRUE(peer.call(1, "m", "", base::never, 1).has_value());
    peer.consume(peer.output().size());
    ASSERT_TRUE(peer.call(1, "m", "", base::never, 2).has_value());
    ASSERT_TRUE(peer.call(1, "m", big, base::never, 3).has_value());
    ASSERT_TRUE(peer.call(1, "m", "", base::never, 4).has_value()); // in a lane
    const std::size_t second_frame = peer.output().find('\n') + 1;
    peer.consume(second_frame + 10); // and the beginning of the third
    peer.fail_all("");
    EXPECT_EQ(events.never_sent,
              (std::map<std::uint64_t, bool>{{1, false}, {2, false}, {3, true}, {4, true}}));
}

TEST(Peer, WhatWasAcceptedBeforeTheStopGoesOn) {
    Talk talk;
    talk.call(1, 100);
    talk.peer().stop_accepting();
    EXPECT_EQ(talk.peer().call(1, "m", "", base::never, 101).error().code, Errc::closed);
    EXPECT_NE(talk.written().find("\"id\":1"), std::string::npos);
    talk.peer().receive(R"({"jsonrpc":"2.0","id":1,"result":"last words")", talk.now);
    talk.peer().receive("}", talk.now); // and no newline
    talk.peer().finish(talk.now);
    EXPECT_EQ(talk.events.log, Strings{"result 100 \"last words\""});
}

TEST(Peer, ParamsThatWouldBreakTheLineAreRefused) {
    Talk talk;
    for (const char* params : {"{", "nonsense", "5", "\"x\"", "{}{}", "[\"\xFF\"]"})
        EXPECT_EQ(talk.peer().call(1, "m", params, base::never, 1).error().code, Errc::invalid_argument)
            << params;
    EXPECT_TRUE(talk.peer().call(1, "m", "{\n\"pretty\":\n1}", base::never, 1).has_value());
    EXPECT_TRUE(talk.peer().call(1, "m", " \n", base::never, 2).has_value()) << "blanks are no params";
    const std::string all = talk.written();
    EXPECT_EQ(std::ranges::count(all, '\n'), 2);
    EXPECT_NE(all.find(R"("id":2,"method":"m"})"), std::string::npos);
}

TEST(Peer, NotificationsReachTheirSubscribersAndNobodyElse) {
    Talk talk;
    const auto first = talk.registrations.subscribe(1, "events.notify");
    talk.registrations.subscribe(2, "events.notify");
    talk.registrations.subscribe(3, "*");
    talk.registrations.subscribe(4, "other");
    talk.line(R"({"jsonrpc":"2.0","method":"events.notify","params":{"n":1}})");
    talk.registrations.remove(first);
    talk.registrations.remove_all_of(3);
    talk.line(R"({"jsonrpc":"2.0","method":"events.notify","params":{"n":2}})");
    talk.line(R"({"jsonrpc":"2.0","method":"nobody.cares"})");
    EXPECT_EQ(talk.events.log, (Strings{"note 1 events.notify {\"n\":1}", "note 2 events.notify {\"n\":1}",
                                        "note 3 events.notify {\"n\":1}", "note 2 events.notify {\"n\":2}"}));
    EXPECT_EQ(talk.peer().counters().unheard, 1U);
}

constexpr const char* llm = R"({"jsonrpc":"2.0","id":"srv-1","method":"host.llm.complete","params":{"p":1}})";

TEST(Peer, TheNewestHoldServesAndASurvivorTakesOver) {
    Talk talk;
    talk.registrations.serve(1, "host.llm.complete");
    talk.registrations.serve(2, "host.llm.complete");
    talk.line(llm);
    ASSERT_EQ(talk.events.log, Strings{"asked 2 host.llm.complete {\"p\":1}"});
    const RequestId first = talk.events.requests.back();
    EXPECT_EQ(talk.peer().reply(1, first, "1").error().code, Errc::not_found) << "not his to answer";
    talk.registrations.remove_all_of(2); // it goes without an answer
    talk.peer().registrations_changed(talk.now);
    ASSERT_EQ(talk.events.log.back(), "asked 1 host.llm.complete {\"p\":1}");
    EXPECT_EQ(talk.peer().reply(2, first, "\"late\"").error().code, Errc::not_found);
    EXPECT_TRUE(talk.peer().reply(1, talk.events.requests.back(), R"({"text":"hi"})").has_value());
    EXPECT_EQ(talk.written(), "{\"jsonrpc\":\"2.0\",\"id\":\"srv-1\",\"result\":{\"text\":\"hi\"}}\n");
    EXPECT_FALSE(talk.peer().reply(1, talk.events.requests.back(), "1").has_value()) << "answered once";
}

TEST(Peer, WithNobodyLeftTheHelperGetsACleanError) {
    Talk talk;
    talk.line(llm);
    EXPECT_EQ(talk.written(),
              "{\"jsonrpc\":\"2.0\",\"id\":\"srv-1\",\"error\":{\"code\":-32601,\"message\":\"nobody "
              "here serves host.llm.complete\"}}\n");
    talk.registrations.serve(1, "host.llm.complete");
    talk.line(llm);
    talk.registrations.remove_all_of(1);
    talk.peer().registrations_changed(talk.now);
    EXPECT_NE(talk.written().find("\"code\":-32601,\"message\":\"who served host.llm.complete is gone"),
              std::string::npos);
}

TEST(Peer, AHandlerMayAnswerAtOnceAndASlowOneBlocksNothing) {
    Talk talk;
    talk.registrations.serve(1, "*");
    talk.call(1, 100);
    talk.line(llm); // asked, not answered
    talk.line(R"({"jsonrpc":"2.0","id":1,"result":"meanwhile"})");
    EXPECT_EQ(talk.events.log.back(), "result 100 \"meanwhile\"");
    talk.events.serve = [&](RequestId id) { EXPECT_TRUE(talk.peer().reply(1, id, "7").has_value()); };
    talk.line(llm);
    EXPECT_NE(talk.written().find("\"result\":7"), std::string::npos);
}

TEST(Peer, ARequestThatNobodyAnswersGetsAnErrorInTime) {
    Talk talk;
    talk.options.serve_within = 5s;
    talk.registrations.serve(1, "*");
    talk.line(llm);
    EXPECT_EQ(talk.peer().next_deadline(), 15s);
    talk.peer().expire(15s);
    EXPECT_EQ(talk.events.log.back(), "gone 1");
    EXPECT_NE(talk.written().find("no answer in time"), std::string::npos);
    EXPECT_EQ(talk.peer().reply(1, talk.events.requests.back(), "1").error().code, Errc::not_found);
}

TEST(Peer, TheHelperMayCancelItsOwnRequest) {
    Talk talk;
    talk.registrations.serve(1, "*");
    talk.line(llm);
    talk.line(R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"srv-1"}})");
    EXPECT_EQ(talk.events.log.back(), "gone 1");
    EXPECT_NE(talk.written().find("-32800"), std::string::npos);
    talk.line(llm);
    talk.line(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"srv-1"}})");
    EXPECT_EQ(talk.events.log.back(), "gone 1");
    EXPECT_EQ(talk.written(), "");
}

TEST(Peer, AFloodOfRequestsIsBoundedAndAnswered) {
    Talk talk;
    talk.options.limits.max_requests = 10;
    talk.options.limits.max_unsent_answers = 4096;
    talk.registrations.serve(1, "*");
    for (int i = 0; i < 10'000; ++i) // and it never reads
        talk.line(cat(R"({"jsonrpc":"2.0","id":)", i, R"(,"method":"x"})"));
    EXPECT_EQ(talk.events.requests.size(), 10U);
    EXPECT_EQ(talk.peer().counters().refused, 9990U);
    EXPECT_GT(talk.peer().counters().dropped_answers, 9000U);
    EXPECT_LT(talk.peer().unsent_bytes(), 4096U + 500U);
    EXPECT_NE(talk.written().find("overflow: 10 requests are being served; ask again later"),
              std::string::npos);
}

TEST(Peer, InFlightIsBoundedAndLeavesRoomForNewcomers) {
    Talk talk;
    talk.options.limits.max_in_flight = 1000;
    std::uint64_t token = 0;
    while (talk.call(1, ++token) != 0) {
    }
    EXPECT_EQ(talk.peer().in_flight(), 500U) << "half of everything for one alone";
    std::size_t second = 0;
    while (talk.call(2, ++token) != 0)
        ++second;
    EXPECT_EQ(second, 250U);
    EXPECT_NE(talk.call(3, ++token), 0U) << "a newcomer finds room";
    const auto refused = talk.peer().call(1, "m", "", base::never, ++token);
    EXPECT_EQ(refused.error().code, Errc::overflow);
    EXPECT_EQ(refused.error().message,
              "overflow: this hold has 500 requests in flight, and 249 are left for all; wait "
              "for answers before sending more");
}

TEST(Peer, UnsentBytesAreBounded) {
    Talk talk;
    talk.options.limits.max_unsent_bytes = 1'000'000;
    const std::string params = cat("[\"", std::string(10'000, 'x'), "\"]");
    std::uint64_t token = 0;
    while (talk.call(1, ++token, base::never, params) != 0) {
    }
    EXPECT_LT(talk.peer().unsent_bytes(), 700'000U);
    EXPECT_GT(talk.peer().unsent_bytes(), 400'000U);
    EXPECT_NE(talk.call(2, ++token, base::never, params), 0U);
    EXPECT_EQ(talk.peer().notify(1, "n", params).error().code, Errc::overflow);
}

// A hold with a hundred thousand requests does not stand in front of one with a single one.
TEST(Peer, ALoneRequestOvertakesTheQueueOfAnotherHold) {
    Talk talk;
    for (std::uint64_t token = 1; token <= 100'000; ++token)
        ASSERT_NE(talk.call(1, token, base::Moment(1h)), 0U);
    const CallId lone = talk.call(2, 200'000);
    ASSERT_NE(lone, 0U);
    const std::string all = talk.written();
    const std::size_t at = all.find(cat("\"id\":", lone, ","));
    ASSERT_NE(at, std::string::npos);
    EXPECT_LT(at, std::size_t{128} << 10) << "behind at most what was being written, and one turn";
    EXPECT_EQ(std::ranges::count(all, '\n'), 100'001);
    for (CallId id = lone; id >= 1; --id)
        talk.line(cat(R"({"jsonrpc":"2.0","id":)", id, R"(,"result":0})"));
    EXPECT_EQ(talk.events.answers.size(), 100'001U);
    EXPECT_EQ(talk.peer().in_flight(), 0U);
}

// Negative control: in one lane, the same request waits behind all of them.
TEST(Peer, InTheSameLaneItWaitsItsTurn) {
    Talk talk;
    for (std::uint64_t token = 1; token <= 100'000; ++token)
        ASSERT_NE(talk.call(1, token), 0U);
    const CallId last = talk.call(1, 200'000);
    EXPECT_GT(talk.written().find(cat("\"id\":", last, ",")), std::size_t{1} << 20);
}

TEST(Lanes, LargeFramesPayForTheirTurn) {
    Lanes lanes;
    for (int i = 0; i < 20; ++i)
        lanes.push(1, 1, std::string(100'000, 'a'));
    for (int i = 0; i < 5000; ++i)
        lanes.push(2, 2, std::string(100, 'b'));
    std::size_t large = 0;
    for (std::size_t small = 0; small < 5000;) {
        const auto item = lanes.pop();
        ASSERT_TRUE(item.has_value());
        (item->call == 1 ? large : small) += 1;
    }
    EXPECT_GE(large, 4U); // 500,000 bytes went to the small ones in the same time
    EXPECT_LE(large, 7U);
    EXPECT_EQ(lanes.bytes(), (20 - large) * 100'000);
    EXPECT_EQ(lanes.bytes_of(2), 0U);
}

TEST(Deadlines, ForgottenOnesLeaveNoTrace) {
    Deadlines deadlines;
    for (std::uint64_t n = 1; n <= 100'000; ++n) {
        deadlines.add(base::Moment(n), n);
        if (n > 10)
            deadlines.forget(n - 10);
    }
    EXPECT_EQ(deadlines.next(), base::Moment(99'991));
    EXPECT_EQ(deadlines.take_due(base::Moment(99'990)), 0U);
    EXPECT_EQ(deadlines.take_due(base::Moment(99'991)), 99'991U);
    EXPECT_EQ(deadlines.take_due(base::Moment(200'000)), 99'992U);
}

} // namespace
