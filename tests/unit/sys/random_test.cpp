#include "sys/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace holdfast::sys {
namespace {

TEST(Random, ATokenIsThirtyTwoDigitsAndNoneComesTwice) {
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) {
        const auto token = random_token();
        EXPECT_EQ(token.size(), 32U);
        EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), token.npos);
        EXPECT_TRUE(seen.insert(token).second);
    }
}

// More than the kernel gives in one piece.
TEST(Random, EveryByteIsFilled) {
    std::vector<std::byte> ever(100'000, std::byte{0});
    for (int round = 0; round < 8; ++round) {
        std::vector<std::byte> bytes(ever.size(), std::byte{0});
        fill_random(bytes);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            ever[i] |= bytes[i];
    }
    EXPECT_EQ(std::ranges::count(ever, std::byte{0}), 0);
    fill_random({});
}

} // namespace
} // namespace holdfast::sys
