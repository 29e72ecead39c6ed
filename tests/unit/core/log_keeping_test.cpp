#include "core/log_keeping.hpp"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

using Names = std::vector<std::string>;

TEST(LogKeeping, TheOldestMakeWayBeyondTheNumber) {
    const std::vector<LogFacts> logs{{"b", 1, 20}, {"d", 1, 40}, {"a", 1, 10}, {"c", 1, 30}};
    EXPECT_EQ(logs_beyond(logs, {.count = 2, .bytes = 100}), (Names{"b", "a"}));
    EXPECT_EQ(logs_beyond(logs, {.count = 4, .bytes = 100}), Names{});
    EXPECT_EQ(logs_beyond(logs, {.count = 0, .bytes = 100}).size(), 4U);
    EXPECT_EQ(logs_beyond({}, {}), Names{});
}

TEST(LogKeeping, AndBeyondTheSizeOfAllThatAreNewer) {
    const std::vector<LogFacts> logs{{"old", 1, 10}, {"big", 90, 20}, {"new", 20, 30}};
    EXPECT_EQ(logs_beyond(logs, {.count = 10, .bytes = 110}), Names{"old"});
    EXPECT_EQ(logs_beyond(logs, {.count = 10, .bytes = 100}), (Names{"big", "old"}));
    EXPECT_EQ(logs_beyond(logs, {.count = 10, .bytes = 111}), Names{});
}

} // namespace
} // namespace holdfast::core
