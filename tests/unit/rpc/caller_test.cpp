// Asking and waiting, without anybody to ask.
#include "rpc/caller.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace holdfast;
using rpc::Caller;

namespace {

std::string written(Caller& caller) {
    std::string text(caller.output());
    caller.consume(text.size());
    return text;
}

TEST(Caller, takes_each_answer_once_whatever_their_order) {
    Caller caller;
    const auto one = caller.ask("a", {{"x", 1}});
    const auto two = caller.ask("b", {});
    ASSERT_TRUE(one && two);
    EXPECT_EQ(written(caller), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":1}}\n"
                               "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\",\"params\":{}}\n");
    EXPECT_FALSE(caller.take(*one));
    caller.receive("noise\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":null}\n{\"jsonrpc\":\"2.0\",\"id\":1,");
    EXPECT_FALSE(caller.take(*one));
    const auto second = caller.take(*two);
    ASSERT_TRUE(second && *second);
    EXPECT_FALSE((*second)->failed);
    EXPECT_TRUE((*second)->body.is_null());
    caller.receive("\"error\":{\"code\":5,\"message\":\"no\"}}\n");
    const auto first = caller.take(*one);
    ASSERT_TRUE(first && *first);
    EXPECT_TRUE((*first)->failed);
    EXPECT_EQ((*first)->body.at("code"), 5);
    EXPECT_FALSE(caller.take(*one));
}

TEST(Caller, an_error_without_an_id_is_the_answer_to_the_oldest) {
    Caller caller;
    const auto one = caller.ask("a", {});
    const auto two = caller.ask("b", {});
    caller.receive(
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"too long\"}}\n");
    const auto first = caller.take(*one);
    ASSERT_TRUE(first && *first);
    EXPECT_EQ((*first)->body.at("message"), "too long");
    EXPECT_FALSE(caller.take(*two));
    caller.receive(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":2}\n");
    EXPECT_FALSE(caller.take(*one)) << "it has its answer";
    EXPECT_TRUE(caller.take(*two));
}

TEST(Caller, paths_that_are_not_utf8_come_through_and_are_not_sent) {
    Caller caller;
    const auto one = caller.ask("a", {});
    caller.receive("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"home\":\"/\xff\"}}\n");
    const auto answer = caller.take(*one);
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ((*answer)->body.at("home"), "/\xff");
    const auto refused = caller.ask("a", {{"text", "\xff"}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
}

TEST(Caller, says_when_an_answer_is_too_large_and_forgets_what_is_dropped) {
    Caller caller(100);
    const auto one = caller.ask("a", {});
    const auto two = caller.ask("b", {});
    caller.receive("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"" + std::string(200, 'x') + "\"}\n");
    const auto answer = caller.take(*one);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->error().code, Errc::overflow);
    caller.drop(*two);
    caller.receive("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":2}\n");
    EXPECT_FALSE(caller.take(*two));
}

} // namespace
