#include "base/names.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::base {
namespace {

TEST(SlotName, TakesLettersDigitsAndThreeSigns) {
    for (const char* name : {"a", "memory", "memory-2", "x_y.z", "0", "A9", "a.", "_a", "a-"})
        EXPECT_TRUE(check_slot_name(name)) << name;
    EXPECT_TRUE(check_slot_name(std::string(100, 'n')));
}

TEST(SlotName, RefusesWhatCouldLeaveTheDirectoryOrTheLine) {
    for (std::string_view name :
         {std::string_view(""), std::string_view(".."), std::string_view("."), std::string_view("../x"),
          std::string_view("a/b"), std::string_view("/"), std::string_view(".hidden"),
          std::string_view("-option"), std::string_view("a b"), std::string_view("a\nb"),
          std::string_view("a\0b", 3), std::string_view("caf\xc3\xa9"), std::string_view("\xff"),
          std::string_view("a\\b"), std::string_view("a:b")}) {
        auto got = check_slot_name(name);
        ASSERT_FALSE(got) << name;
        EXPECT_EQ(got.error().code, Errc::invalid_argument);
    }
}

TEST(SlotName, SaysHowLongItMayBe) {
    auto got = check_slot_name(std::string(101, 'n'));
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().message.find("101"), std::string::npos) << got.error().message;
    EXPECT_NE(got.error().message.find("100"), std::string::npos) << got.error().message;
}

TEST(ProfileName, HasNoDots) {
    EXPECT_TRUE(check_profile_name("work-2_b"));
    EXPECT_TRUE(check_profile_name(std::string(40, 'p')));
    for (const char* name : {"", "a.b", ".", "..", "a/b", "a b"})
        EXPECT_FALSE(check_profile_name(name)) << name;
    EXPECT_FALSE(check_profile_name(std::string(41, 'p')));
}

} // namespace
} // namespace holdfast::base
