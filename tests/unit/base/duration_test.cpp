#include "base/duration.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace holdfast::base {
namespace {

TEST(Duration, ReadsEveryUnit) {
    const std::pair<const char*, long long> cases[] = {
        {"0", 0},        {"250ms", 250},    {"2s", 2000},      {"1.5s", 1500},
        {"5m", 300'000}, {"5min", 300'000}, {"1h", 3'600'000}, {"2d", 172'800'000},
        {"0.5ms", 1},    {"0s", 0},         {".5s", 500},      {"3650d", 3650LL * 86'400'000}};
    for (auto [text, expected] : cases) {
        auto got = parse_duration(text);
        ASSERT_TRUE(got) << text;
        EXPECT_EQ(got->count(), expected) << text;
    }
}

TEST(Duration, RefusesWhatWouldBeAGuess) {
    for (const char* text : {"", "5", "s", "ms", "-1s", "+1s", "1 s", "1S", "1.2.3s", "1e3s", "nan", "inf",
                             "0x10s", "1s2", "99999999999999999999s", "3651d", ".", "1.s.", "1,5s"})
        EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Duration, SpeaksToPeople) {
    const std::pair<long long, const char*> cases[] = {{0, "0 ms"},
                                                       {850, "850 ms"},
                                                       {12'999, "12 s"},
                                                       {60'000, "1 min"},
                                                       {185'000, "3 min 5 s"},
                                                       {7'440'000, "2 h 4 min"},
                                                       {7'200'000, "2 h"},
                                                       {5 * 86'400'000LL + 3'600'000, "5 d 1 h"}};
    for (auto [ms, text] : cases)
        EXPECT_EQ(format_duration(Millis{ms}), text);
}

TEST(Size, ReadsAndRefuses) {
    EXPECT_EQ(parse_size("4096").value(), 4096u);
    EXPECT_EQ(parse_size("800K").value(), 800u * 1024);
    EXPECT_EQ(parse_size("64M").value(), 64u << 20);
    EXPECT_EQ(parse_size("1.5G").value(), 3ull << 29);
    EXPECT_EQ(parse_size("512MiB").value(), 512u << 20);
    for (const char* text : {"", "0", "-1", "M", "1X", "0.1", "99999999T", "1 M"})
        EXPECT_FALSE(parse_size(text)) << text;
}

TEST(Size, SpeaksToPeople) {
    EXPECT_EQ(format_size(812 * 1024), "812 KB");
    EXPECT_EQ(format_size(13'002'342), "12.4 MB");
    EXPECT_EQ(format_size(1'288'490'188), "1.2 GB");
}

} // namespace
} // namespace holdfast::base
