#include "places/places.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace holdfast::places {
namespace {

struct Case {
    std::map<std::string, std::string> environment;
    std::optional<std::string> entry; // in /etc/passwd
};

Result<Places> resolve(const Case& one, int* asked = nullptr, std::string_view profile = "default") {
    return resolve_places(
        [&one](const char* name) -> std::optional<std::string> {
            const auto at = one.environment.find(name);
            return at == one.environment.end() ? std::nullopt : std::optional(at->second);
        },
        1000, profile,
        [&one, asked] {
            if (asked)
                ++*asked;
            return one.entry;
        });
}

TEST(PlacesOfAUser, TheEntryIsAskedForOnlyWhereHomeIsMissing) {
    int asked = 0;
    for (const Case& one : {Case{{{"HOME", "/h"}}, "/p"}, Case{{{"HOLDFAST_HOME", "/h"}}, "/p"},
                            Case{{{"XDG_STATE_HOME", "/s"}, {"XDG_CONFIG_HOME", "/c"}}, "/p"}})
        EXPECT_TRUE(resolve(one, &asked));
    EXPECT_EQ(asked, 0);
    for (const Case& one : {Case{{}, "/p"}, Case{{{"HOME", ""}}, "/p"}}) {
        const auto places = resolve(one, &asked);
        ASSERT_TRUE(places);
        EXPECT_EQ(places->state, "/p/.local/state/holdfast/default");
        EXPECT_EQ(places->events, places->state);
        EXPECT_EQ(places->config, "/p/.config/holdfast");
        EXPECT_EQ(places->helpers, "/tmp/holdfast-1000/default/helpers");
        EXPECT_TRUE(places->check_store("a log"));
    }
    EXPECT_EQ(asked, 2);
}

TEST(PlacesOfAUser, WithoutAHomeOnlyTheRuntimeDirectoryIsLeft) {
    const auto places = resolve({{{"XDG_RUNTIME_DIR", "/run/user/1000"}}, std::nullopt});
    ASSERT_TRUE(places);
    EXPECT_EQ(places->slots, "/run/user/1000/holdfast/default/slots");
    EXPECT_EQ(places->events, "/run/user/1000/holdfast/default");
    EXPECT_EQ(places->state, "");
    EXPECT_EQ(places->config, "");
    const auto stored = places->check_store("a log");
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().code, Errc::cannot_create);
    EXPECT_NE(stored.error().message.find("no entry for user 1000"), std::string::npos);
}

TEST(PlacesOfAUser, AStateOfItsOwnNeedsNoHome) {
    const auto places = resolve({{{"XDG_STATE_HOME", "/s"}}, std::nullopt});
    ASSERT_TRUE(places);
    EXPECT_EQ(places->state, "/s/holdfast/default");
    EXPECT_TRUE(places->check_store("a log"));
    EXPECT_FALSE(resolve({{{"HOME", "relative"}}, std::nullopt}));
}

TEST(PlacesOfAUser, TheMemoryIsWhereTheStateIs) {
    struct {
        Case given;
        std::string_view profile;
        const char* memory;
    } const cases[] = {
        {{{{"HOME", "/h"}}, std::nullopt}, "default", "/h/.local/state/holdfast/default/memory"},
        {{{{"HOME", "/h"}}, std::nullopt}, "work", "/h/.local/state/holdfast/work/memory"},
        {{{{"HOME", "/h"}, {"XDG_STATE_HOME", "/s/"}}, std::nullopt},
         "default",
         "/s/holdfast/default/memory"},
        {{{{"HOLDFAST_HOME", "/x//"}, {"HOME", "/h"}}, std::nullopt}, "default", "/x/memory"},
        {{{{"HOLDFAST_HOME", "/x"}}, std::nullopt}, "work", "/x/state/work/memory"},
        {{{}, "/p"}, "default", "/p/.local/state/holdfast/default/memory"},
        {{{{"XDG_RUNTIME_DIR", "/run/user/1000"}}, std::nullopt}, "default", ""},
    };
    for (const auto& [given, profile, memory] : cases) {
        const auto places = resolve(given, nullptr, profile);
        ASSERT_TRUE(places) << memory;
        EXPECT_EQ(places->memory, memory);
    }
    EXPECT_FALSE(resolve({{{"HOLDFAST_HOME", "relative"}}, std::nullopt}));
}

} // namespace
} // namespace holdfast::places
