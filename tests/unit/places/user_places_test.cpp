#include "places/user_places.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <climits>

namespace holdfast::places {
namespace {

TEST(UserPlaces, AMemoryThatIsNamedIsTakenAsItIs) {
    EXPECT_EQ(*memory_home_of_user("default", "/a/b"), "/a/b");
    EXPECT_EQ(*memory_home_of_user("default", "/a/b///"), "/a/b");
    EXPECT_EQ(*memory_home_of_user("default", "/"), "/");
    std::array<char, PATH_MAX> here{};
    ASSERT_NE(::getcwd(here.data(), here.size()), nullptr);
    EXPECT_EQ(*memory_home_of_user("default", "a/b/"), std::string(here.data()) + "/a/b");
    // Nothing else is asked for then: a profile that cannot be is no reason to refuse.
    EXPECT_TRUE(memory_home_of_user("no profile", "/a"));
    EXPECT_FALSE(memory_home_of_user("no profile", ""));
}

} // namespace
} // namespace holdfast::places
