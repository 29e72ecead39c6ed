#include "sys/proc.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::sys {
namespace {

std::string line_of(const std::string& comm) {
    return "4711 (" + comm +
           ") S 17 4700 4600 34816 4711 4194560 100 0 0 0 30 12 0 0 20 0 1 0 987654 10000000 812 "
           "18446744073709551615\n";
}

TEST(ParseStat, ReadsAfterTheLastParenthesis) {
    for (const char* comm :
         {"plain", "a b", "a) b (c", ") R 1 1 1", "((", "))", "", "x) S 1 2 3 4 5", "a\nb"}) {
        auto got = parse_stat(line_of(comm));
        ASSERT_TRUE(got) << comm;
        EXPECT_EQ(got->comm, comm);
        EXPECT_EQ(got->state, 'S') << comm;
        EXPECT_EQ(got->ppid, 17) << comm;
        EXPECT_EQ(got->pgrp, 4700) << comm;
        EXPECT_EQ(got->session, 4600) << comm;
        EXPECT_EQ(got->tty, 34816) << comm;
        EXPECT_EQ(got->cpu_ticks, 42u) << comm;
        EXPECT_EQ(got->start_ticks, 987654u) << comm;
        EXPECT_EQ(got->rss_pages, 812u) << comm;
    }
}

// The negative control: what splitting on blanks would have made of it.
TEST(ParseStat, SplittingOnBlanksWouldBeWrong) {
    std::string line = line_of("a) b (c");
    std::size_t second_blank = line.find(' ', line.find(' ') + 1);
    EXPECT_NE(line[second_blank + 1], 'S');
}

TEST(ParseStat, TornTextsAreNothing) {
    std::string whole = line_of("x");
    std::size_t last_needed = whole.find(" 812 ") + 4;
    for (std::size_t length = 0; length < last_needed - 3; ++length)
        EXPECT_FALSE(parse_stat(whole.substr(0, length))) << length;
    for (const char* text : {"", "4711", "()", ")(", "4711 (x) S x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
                             "4711 (x) Sleeping 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"})
        EXPECT_FALSE(parse_stat(text)) << text;
}

TEST(ParseStat, NegativeMemoryIsNone) {
    std::string line = line_of("x");
    line.replace(line.find(" 812 "), 5, " -8 ");
    auto got = parse_stat(line);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->rss_pages, 0u);
}

TEST(ReadStat, AgreesWithTheKernelAboutThisProcess) {
    auto got = read_stat(::getpid());
    ASSERT_TRUE(got);
    EXPECT_EQ(got->ppid, ::getppid());
    EXPECT_EQ(got->pgrp, ::getpgrp());
    EXPECT_GT(got->start_ticks, 0u);
    EXPECT_FALSE(read_stat(4'194'305)); // beyond the largest PID
}

} // namespace
} // namespace holdfast::sys
