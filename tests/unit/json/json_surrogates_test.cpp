#include "json/json_surrogates.hpp"

#include <gtest/gtest.h>

namespace holdfast::json {
namespace {

std::string mended(std::string text) {
    (void)mend_lone_surrogates(text);
    return text;
}

TEST(JsonSurrogates, lone_ones_are_replaced_and_nothing_else) {
    EXPECT_EQ(mended(R"("caf\udce9")"), R"("caf\ufffd")");
    EXPECT_EQ(mended(R"("\uD83D")"), R"("\ufffd")");
    EXPECT_EQ(mended(R"("\ud83d\ud83d\ude00")"), R"("\ufffd\ud83d\ude00")");
    EXPECT_EQ(mended(R"("\ude00\ud83d")"), R"("\ufffd\ufffd")");
    EXPECT_EQ(mended(R"("\ud83dx\ude00")"), R"("\ufffdx\ufffd")");
    for (const char* sound : {R"("\ud83d\ude00")", R"("\\udce9")", R"("\\\\udce9")", R"("a\nb\u00e9")",
                              R"("\ud8")", R"("\uzzzz")", R"("\)", ""}) {
        std::string text(sound);
        EXPECT_FALSE(mend_lone_surrogates(text)) << sound;
        EXPECT_EQ(text, sound);
    }
    EXPECT_EQ(mended(R"("\\\udce9")"), R"("\\\ufffd")");
}

TEST(JsonSurrogates, what_is_no_json_stays_none) {
    boost::system::error_code failed;
    EXPECT_EQ(parse_mended(R"({"a":"caf\udce9"})", failed).at("a"), "caf\xef\xbf\xbd");
    EXPECT_FALSE(failed);
    for (const char* broken : {R"({"a":"\udce9")", R"(\udce9)", "{", "\"\xff\\udce9\""}) {
        (void)parse_mended(broken, failed);
        EXPECT_TRUE(failed) << broken;
    }
}

} // namespace
} // namespace holdfast::json
