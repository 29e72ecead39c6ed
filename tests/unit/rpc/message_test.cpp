// Which messages are which, and what is none.
#include "rpc/message.hpp"

#include "json/json_scan.hpp"

#include <gtest/gtest.h>

using namespace holdfast::rpc;

namespace {

TEST(Messages, AreToldApart) {
    const Message request =
        classify(R"({"jsonrpc":"2.0","id":"srv-1","method":"host.llm.complete","params":{"a":[1]}})");
    EXPECT_EQ(request.kind, MessageKind::request);
    EXPECT_EQ(request.id, R"("srv-1")");
    EXPECT_EQ(request.method, "host.llm.complete");
    EXPECT_EQ(request.params, R"({"a":[1]})");
    EXPECT_EQ(classify(R"({"method":"x","jsonrpc":"2.0"})").kind, MessageKind::notification);
    const Message result = classify(R"( {"id":7,"jsonrpc":"2.0","result":null} )");
    EXPECT_EQ(result.kind, MessageKind::result);
    EXPECT_EQ(result.result, "null");
    EXPECT_EQ(number_of(result.id), 7U);
    EXPECT_EQ(classify(R"({"jsonrpc":"2.0","id":7,"error":{"code":-1}})").kind, MessageKind::error);
    EXPECT_EQ(classify(R"({"jsonrpc":"2.0","id":7,"error":null,"result":1})").kind, MessageKind::result);
    EXPECT_EQ(classify(R"({"jsonrpc":"2.0","id":7})").kind, MessageKind::empty_answer);
    EXPECT_EQ(classify(R"({"jsonrpc":"2.0","id":7,"error":null})").kind, MessageKind::empty_answer);
}

TEST(Messages, NoiseIsNoise) {
    for (const char* text :
         {"", "null", "[]", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}]", "\"text\"", "12", "true",
          "Server started on 8080",
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":", "{\"level\":\"info\",\"msg\":\"x\"}",
          "{\"jsonrpc\":\"2.0\"}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":1}", "{\"id\":1,\"result\":1}",
          "{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":1}", "{\"jsonrpc\":\"2.0\",\"id\":true,\"result\":1}",
          "{\"jsonrpc\":\"2.0\",\"method\":5}", "\x01\x02\xFF",
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xFF\"}",
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1} trailing"}) {
        const Message message = classify(text);
        EXPECT_EQ(message.kind, MessageKind::noise) << text;
        EXPECT_STRNE(message.why, "") << text;
    }
}

TEST(Messages, MethodNamesWithEscapesAreDecoded) {
    std::string storage;
    const Message message = classify(R"({"jsonrpc":"2.0","method":"a\u002eb\/c"})");
    EXPECT_EQ(message.method_name(storage), "a.b/c");
}

TEST(Messages, IdsAreNumbersOnlyWhenTheyLookLikeOurs) {
    EXPECT_EQ(number_of("18446744073709551615"), 18446744073709551615ULL);
    for (const char* raw : {"", "null", "\"7\"", "-7", "7.0", "7e0", "18446744073709551616", " 7"})
        EXPECT_EQ(number_of(raw), std::nullopt) << raw;
}

TEST(Messages, TheIdOfACutAnswerIsReadOnlyWhereItIsCertain) {
    EXPECT_EQ(answer_id_of_head(R"({"jsonrpc":"2.0","id":7,"result":{"id":9,"x":"aaaa)"), "7");
    EXPECT_EQ(answer_id_of_head(R"({"jsonrpc":"2.0","result":{"id":9,"x":"aaaa)"), "")
        << "9 is somebody else's";
    EXPECT_EQ(answer_id_of_head(R"({"jsonrpc":"2.0","id":7,"method":"x","params":{"a":")"), "");
    EXPECT_EQ(answer_id_of_head("garbage"), "");
}

TEST(Messages, ErrorsAreTakenApart) {
    const ErrorObject object =
        read_error(R"({"code":-32601,"message":"no \"x\"","data":{"code":"unknown_method"}})");
    EXPECT_EQ(object.code, -32601);
    EXPECT_EQ(object.message, "no \"x\"");
    EXPECT_EQ(object.data, R"({"code":"unknown_method"})");
    EXPECT_EQ(read_error("\"just text\"").message, "\"just text\"");
    EXPECT_EQ(read_error(R"({"code":"odd"})").code, server_error);
    EXPECT_FALSE(read_error("{}").message.empty());
}

TEST(Messages, WhatIsWrittenIsRead) {
    const std::string request = write_request(12, "a\"b\n", R"({"x":1})");
    const Message read = classify(request);
    std::string storage;
    EXPECT_EQ(read.kind, MessageKind::request);
    EXPECT_EQ(read.method_name(storage), "a\"b\n");
    EXPECT_EQ(number_of(read.id), 12U);
    EXPECT_EQ(classify(write_request(1, "m", "")).params, "");
    const std::string error = write_error("\"srv-1\"", method_not_found, "nobody\xFF", R"({"a":1})");
    const Message answer = classify(error);
    EXPECT_EQ(answer.kind, MessageKind::error);
    EXPECT_EQ(read_error(answer.error).code, -32601);
    EXPECT_EQ(classify(write_result("null", "")).kind, MessageKind::result);
    EXPECT_EQ(classify(write_notification("n", "[]")).kind, MessageKind::notification);
}

} // namespace
