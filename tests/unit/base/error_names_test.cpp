#include "holdfast/result.hpp"
#include "holdfast/slot.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace holdfast {
namespace {

// The numbers are part of the C ABI. Written out here so that a change to them cannot go unnoticed.
TEST(ErrorNames, NumbersAndNamesAreStable) {
    const std::string_view names[] = {
        "invalid_argument", "held",        "timed_out",    "orphaned",     "superseded", "too_many_takeovers",
        "not_permitted",    "unreachable", "lost",         "no_space",     "io",         "not_found",
        "unsafe_directory", "survivors",   "cannot_start", "unsupported",  "gave_up",    "closed",
        "overflow",         "protocol",    "cancelled",    "cannot_create"};
    int number = 1;
    std::set<std::string_view> distinct;
    for (std::string_view name : names) {
        EXPECT_EQ(name_of(static_cast<Errc>(number)), name) << number;
        distinct.insert(name);
        ++number;
    }
    EXPECT_EQ(distinct.size(), std::size(names));
}

TEST(StateNames, AreStable) {
    EXPECT_EQ(name_of(SlotState::free), "free");
    EXPECT_EQ(name_of(SlotState::owned), "owned");
    EXPECT_EQ(name_of(SlotState::orphaned), "orphaned");
    EXPECT_EQ(name_of(Phase::starting), "starting");
    EXPECT_EQ(name_of(Phase::ready), "ready");
    EXPECT_EQ(name_of(Phase::draining), "draining");
}

} // namespace
} // namespace holdfast
