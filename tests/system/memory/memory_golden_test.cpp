// The contract to the letter: requests and their answers as lines, in golden_lines.txt. A line that begins
// with '>' is written, the '<' line after it is what must come back. What differs from run to run (made-up
// ids, measured times) stands there as *. Written anew with HOLDFAST_WRITE_GOLDEN=1, and then read by a
// person before it is kept.
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace holdfast::test {
namespace {

std::string without_chance(std::string line) {
    static const std::regex made_up("(tr|ep|se|fb|sub|tu)_[0-9a-z]{20,}");
    static const std::regex latency("\"tierLatencyMs\":\\{[^}]*\\}");
    static const std::regex stamp("\"(createdAt|updatedAt)\":[0-9]{12,}");
    line = std::regex_replace(line, made_up, "$1_*");
    line = std::regex_replace(line, latency, "\"tierLatencyMs\":*");
    return std::regex_replace(line, stamp, "\"$1\":*");
}

TEST(MemoryContract, golden_lines) {
    const std::string path = std::string(HOLDFAST_SOURCE_DIR) + "/tests/system/memory/golden_lines.txt";
    const bool rewrite = std::getenv("HOLDFAST_WRITE_GOLDEN") != nullptr;
    const TempHome home;
    MemoryProcess memory(home.path());
    std::ifstream golden(path);
    std::string fresh;
    int compared = 0;
    for (std::string line; std::getline(golden, line);) {
        if (!line.starts_with("> ")) {
            if (!line.starts_with("< "))
                fresh += line + "\n";
            continue;
        }
        memory.write(line.substr(2) + "\n");
        const auto answer = memory.line();
        ASSERT_TRUE(answer) << line;
        const auto plain = without_chance(*answer);
        fresh += line + "\n< " + plain + "\n";
        if (rewrite)
            continue;
        std::string expected;
        ASSERT_TRUE(std::getline(golden, expected) && expected.starts_with("< "))
            << "no answer stands after " << line;
        EXPECT_EQ(plain, expected.substr(2)) << line;
        ++compared;
    }
    EXPECT_EQ(memory.wait(), 0) << "the last request ends it";
    if (rewrite) {
        std::ofstream(path) << fresh;
        GTEST_SKIP() << "written, not compared";
    }
    EXPECT_GE(compared, 30);
}

} // namespace
} // namespace holdfast::test
