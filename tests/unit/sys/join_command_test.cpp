#include "sys/proc.hpp"

#include <gtest/gtest.h>

namespace holdfast::sys {
namespace {

TEST(JoinCommand, QuotesWhereAShellWould) {
    EXPECT_EQ(join_command({"node", "server.js", "--port=80"}), "node server.js --port=80");
    EXPECT_EQ(join_command({"a b", "", "it's"}), "'a b' '' 'it'\\''s'");
    EXPECT_EQ(join_command({}), "");
}

TEST(JoinCommand, AControlCharacterDoesNotReachTheTerminal) {
    EXPECT_EQ(join_command({"x\x1b[31my\nz\x7f"}), "'x?[31my?z?'");
}

TEST(JoinCommand, IsCutBetweenCharacters) {
    std::string euro = "\xe2\x82\xac";
    std::string many;
    for (int i = 0; i < 200; ++i)
        many += euro;
    std::string got = join_command({many});
    EXPECT_LE(got.size(), 203u);
    EXPECT_TRUE(got.ends_with("…"));
    std::string body = got.substr(1, got.size() - 4);
    EXPECT_EQ(body.size() % 3, 0u);
    EXPECT_EQ(join_command({std::string(200, 'a')}).size(), 200u);
}

} // namespace
} // namespace holdfast::sys
