// Secrets out of text and out of JSON, and nothing else.
#include "memory/text/cleaner.hpp"
#include "memory/text/redact.hpp"

#include <gtest/gtest.h>

namespace holdfast::memory {
namespace {

struct Secret {
    const char* text;
    const char* gone; // must not be there any more
};

TEST(MemoryRedact, secrets_go_and_the_rest_stays) {
    constexpr Secret secrets[] = {
        {"my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123 ok", "abcdefghijklmnop"},
        {"token ghp_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghij"},
        {"AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"},
        {"Authorization: Bearer abcdefghijklmnopqrstu.vwx", "abcdefghijklmnop"},
        {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3.SflKxwRJSMeKKF2QT4", "SflKxw"},
        {"password = hunter2-and-more", "hunter2"},
        {"{\"api_key\": \"a1b2c3d4e5f6\"}", "a1b2c3"},
        {"DB_PASSWORD=Tr0ub4dor&3", "Tr0ub4dor"},
        {"postgres://bob:s3cr3t@db.example/x", "s3cr3t"},
        {"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"},
        {"-----BEGIN PRIVATE KEY-----\nMIIEow and cut", "MIIEow"},
        {"SG.aBcDeFgHiJkLmNoPqRsTuV.aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFg", "aBcDeFg"},
        {"line\nghp_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghij"},
        {R"(a line\nghp_0123456789abcdefghijABCDEFGHIJ012345)",
         "0123456789abcdefghij"}, // \n as it is written
        {R"(curl -d '{\"password\": \"hunter2hunter2\"}')", "hunter2"},
        {R"({\\\"api_key\\\":\\\"a1b2c3d4e5f6\\\"})", "a1b2c3"},
        {"api_key\t=\tabcd1234efgh", "abcd1234"},
    };
    for (const auto& secret : secrets) {
        const auto clean = redact(secret.text);
        EXPECT_EQ(clean.count, 1U) << secret.text;
        EXPECT_EQ(clean.text.find(secret.gone), std::string::npos) << clean.text;
        EXPECT_NE(clean.text.find("[redacted:"), std::string::npos) << clean.text;
    }
    for (const char* kept :
         {"commit 3f786850e387550fdab836ed7e6dc881de23001b", "the password is short", "sk-8", "token: next",
          "a secret: nothing", "https://example.org/a:b@c", "monkey = 12345678a", "token = next_token()",
          "token: refresh_token", "What is the password: required?", "password = read_password_1(prompt)",
          "The secret: persistence_pays_off", "PASSWORD=$DB_PASSWORD_1",
          "token = the_token_of_the_session_that_was_opened", "SG.short.part",
          "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"})
        EXPECT_EQ(redact(kept).text, kept);
    EXPECT_EQ(redact(redact("password=abc12345x").text).count, 0U); // again changes nothing
}

std::string cleaned(std::string_view text) {
    return Cleaner(true).json(boost::json::parse(text));
}

// Strings are cleaned as they are, not as JSON writes them: what is around them stays what it was.
TEST(MemoryRedact, json_stays_json_and_every_string_in_it_is_cleaned) {
    EXPECT_EQ(
        cleaned(
            R"([{"name":"bash","output":"HOME=/root\nghp_0123456789abcdefghijABCDEFGHIJ012345\n\tAKIAIOSFODNN7EXAMPLE"}])"),
        R"([{"name":"bash","output":"HOME=/root\n[redacted:github-token]\n\t[redacted:aws-key]"}])");
    EXPECT_EQ(cleaned(R"({"command":"curl -d '{\"password\": \"hunter2hunter2\"}'","n":[1,null,true]})"),
              R"({"command":"curl -d '{\"password\": \"[redacted:secret]\"}'","n":[1,null,true]})");
    // A key that was cut off takes its own string with it, and nothing else.
    EXPECT_EQ(
        cleaned(R"([{"output":"-----BEGIN RSA PRIVATE KEY-----\nMIIEow"},{"name":"second","output":"ok"}])"),
        R"([{"output":"[redacted:private-key]"},{"name":"second","output":"ok"}])");
    EXPECT_EQ(cleaned(R"({"output":"{\"key\":\"-----BEGIN RSA PRIVATE KEY-----\\nMIIEow\",\"ok\":true}"})"),
              R"({"output":"{\"key\":\"[redacted:private-key]\",\"ok\":true}"})");
}

TEST(MemoryRedact, a_member_is_judged_by_its_name) {
    EXPECT_EQ(cleaned(R"({"password":"abc\"def 1234567"})"), R"({"password":"abc\"def 1234567"})"); // prose
    EXPECT_EQ(cleaned(R"({"password":"abc\"def{1234567"})"), R"({"password":"[redacted:secret]"})");
    EXPECT_EQ(cleaned(R"({"API_KEY":["a1b2c3d4e5"],"page":"a1b2c3d4e5"})"),
              R"({"API_KEY":["[redacted:secret]"],"page":"a1b2c3d4e5"})");
    for (const char* kept :
         {R"({"token":"refresh_token","password":"required"})", R"x({"secret":"get_secret_1()"})x"})
        EXPECT_EQ(cleaned(kept), kept);
    EXPECT_EQ(cleaned(R"({"AKIAIOSFODNN7EXAMPLE":1})"), R"({"[redacted:aws-key]":1})");
    const auto once = cleaned(R"({"password":"hunter2hunter2"})");
    EXPECT_EQ(cleaned(once), once);
    EXPECT_EQ(Cleaner(false).json(boost::json::parse(R"({"password":"hunter2hunter2"})")),
              R"({"password":"hunter2hunter2"})");
}

} // namespace
} // namespace holdfast::memory
