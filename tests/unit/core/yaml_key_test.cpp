// Only the key changes: every case is compared byte for byte.
#include "core/yaml_key.hpp"

#include <gtest/gtest.h>

namespace {

using namespace holdfast;
using core::YamlKey;

constexpr YamlKey provider{.section = "memory", .key = "provider"};

std::string with(std::string_view text) {
    auto out = core::yaml_with(text, provider, "holdfast");
    return out ? *out : "refused: " + out.error().message;
}
std::string without(std::string_view text) {
    auto out = core::yaml_without(text, provider);
    return out ? *out : "refused: " + out.error().message;
}
std::string value(std::string_view text) {
    auto out = core::yaml_value(text, provider);
    return !out ? "refused: " + out.error().message : out->value_or("(none)");
}

TEST(YamlKey, ASectionThatIsNotThereIsAppended) {
    EXPECT_EQ(with(""), "memory:\n  provider: holdfast\n");
    EXPECT_EQ(with("model: x\n"), "model: x\nmemory:\n  provider: holdfast\n");
    EXPECT_EQ(with("model: x"), "model: x\nmemory:\n  provider: holdfast\n");
    EXPECT_EQ(with("# only words\n"), "# only words\nmemory:\n  provider: holdfast\n");
    EXPECT_EQ(with("a: 1\r\n"), "a: 1\r\nmemory:\r\n  provider: holdfast\r\n");
    EXPECT_EQ(with("---\na: 1\n"), "---\na: 1\nmemory:\n  provider: holdfast\n");
}

TEST(YamlKey, OnlyTheValueChanges) {
    EXPECT_EQ(with("memory:\n    provider:   mem0   # mine\n    other: 1\nmodel: x\n"),
              "memory:\n    provider:   holdfast   # mine\n    other: 1\nmodel: x\n");
    EXPECT_EQ(with("memory:\n  provider: \"a # b\" # c\n"), "memory:\n  provider: holdfast # c\n");
    EXPECT_EQ(with("memory:\n  provider: 'x'\n"), "memory:\n  provider: holdfast\n");
    EXPECT_EQ(with("memory:\n  provider:\n"), "memory:\n  provider: holdfast\n");
    EXPECT_EQ(with("memory:\n  provider: # none\n"), "memory:\n  provider: holdfast # none\n");
    EXPECT_EQ(with("\"memory\":\n  'provider': x\n"), "\"memory\":\n  'provider': holdfast\n");
    EXPECT_EQ(with("memory:\r\n  provider: x\r\n"), "memory:\r\n  provider: holdfast\r\n");
    const std::string already = "memory:\n  provider: 'holdfast'\n";
    EXPECT_EQ(with(already), already);
}

TEST(YamlKey, AMemberIsPutIntoASectionThatHasNone) {
    EXPECT_EQ(with("memory:\n    enabled: true # yes\n\nx: 1\n"),
              "memory:\n    provider: holdfast\n    enabled: true # yes\n\nx: 1\n");
    EXPECT_EQ(with("memory: {}\nx: 1\n"), "memory:\n  provider: holdfast\nx: 1\n");
    EXPECT_EQ(with("memory: null # c\n"), "memory: # c\n  provider: holdfast\n");
    EXPECT_EQ(with("memory:\nx: 1\n"), "memory:\n  provider: holdfast\nx: 1\n");
    EXPECT_EQ(with("memory:"), "memory:\n  provider: holdfast");
}

TEST(YamlKey, KeysOfThatNameElsewhereAreNotMeant) {
    EXPECT_EQ(
        with("provider: x\nmodel:\n  provider: y\nmemory:\n  deep:\n    provider: z\n"),
        "provider: x\nmodel:\n  provider: y\nmemory:\n  provider: holdfast\n  deep:\n    provider: z\n");
    EXPECT_EQ(with("memory_limit: 3\n"), "memory_limit: 3\nmemory:\n  provider: holdfast\n");
    EXPECT_EQ(with("text: |\n  memory:\n    provider: no\n"),
              "text: |\n  memory:\n    provider: no\nmemory:\n  provider: holdfast\n");
    EXPECT_EQ(with("memory:\n  note: |\n    provider: no\n  provider: yes-this\n"),
              "memory:\n  note: |\n    provider: no\n  provider: holdfast\n");
}

TEST(YamlKey, WhatCannotBeDoneWithCertaintyIsRefused) {
    for (std::string_view text :
         {"memory: {provider: x}\n", "memory: *shared\n", "memory: word\n", "{memory: {}}\n",
          "memory:\n- a\n", "memory:\n  - a\n", "memory:\n\tprovider: x\n",
          "memory:\n  provider: x\nmemory:\n  a: 1\n", "memory:\n  provider: x\n  provider: y\n",
          "a: 1\n---\nb: 2\n", "memory:\n  provider: |\n    x\n", "memory:\n  provider: two\n    lines\n",
          "memory:\n    a: 1\n  provider: x\n", "memory:\n  provider: &a x\n"})
        EXPECT_TRUE(with(text).starts_with("refused: ")) << text << " gave " << with(text);
    EXPECT_NE(with("memory: word\n").find("memory.provider there by hand"), std::string::npos);
}

TEST(YamlKey, TakenOutWithItsSectionWhenThatIsEmpty) {
    EXPECT_EQ(without("a: 1\nmemory:\n  provider: holdfast\nb: 2\n"), "a: 1\nb: 2\n");
    EXPECT_EQ(without("memory:\n  provider: holdfast\n  x: 1\n"), "memory:\n  x: 1\n");
    EXPECT_EQ(without("a: 1\n"), "a: 1\n");
    for (std::string_view text : {"", "model: x\n", "# c\n", "memory:\n  x: 1\n", "a: 1\r\n"})
        EXPECT_EQ(without(with(text)), text);
}

TEST(YamlKey, TheValueIsReadWithoutItsQuotes) {
    EXPECT_EQ(value("memory:\n  provider: \"mem0\" # c\n"), "mem0");
    EXPECT_EQ(value("memory:\n  provider: ~\n"), "(none)");
    EXPECT_EQ(value("memory:\n  x: 1\n"), "(none)");
    EXPECT_EQ(value(""), "(none)");
}

} // namespace
