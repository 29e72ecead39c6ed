// Only the key changes: every case is compared byte for byte.
#include "config_edit/yaml_key.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

namespace {

using namespace holdfast;
using base::cat;
using config_edit::YamlKey;

constexpr YamlKey provider{.section = "memory", .key = "provider"};

std::string with(std::string_view text) {
    auto out = config_edit::yaml_with(text, provider, "holdfast");
    return out ? *out : "refused: " + out.error().message;
}
std::string without(std::string_view text) {
    auto out = config_edit::yaml_without(text, provider);
    return out ? *out : "refused: " + out.error().message;
}
std::string value(std::string_view text) {
    auto out = config_edit::yaml_value(text, provider);
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

TEST(YamlKey, AByteOrderMarkBelongsToNoLine) {
    EXPECT_EQ(with("\xEF\xBB\xBFmemory:\n  a: 1\n"), "\xEF\xBB\xBFmemory:\n  provider: holdfast\n  a: 1\n");
    EXPECT_EQ(value("\xEF\xBB\xBFmemory:\n  provider: x\n"), "x");
    EXPECT_EQ(without("\xEF\xBB\xBFmemory:\n  provider: x\n"), "\xEF\xBB\xBF");
}

// Each of these has a second reading, in which our line would be part of a value or the key be there twice.
TEST(YamlKey, WhatOnlyLooksLikeABlockOfKeysIsRefused) {
    using namespace std::string_literals;
    for (const std::string& text :
         {"a: 1\rmemory:\r  provider: x\r"s, "m\0e\0m\0o\0r\0y\0:\0\n\0"s, "a: \"open\nmemory: no\"\n"s,
          "a: b\xC2\x85memory: c\n"s, "a: b\xE2\x80\xA8memory: c\n"s, "a: 'open\nmemory: no'\n"s,
          "a: {\nmemory: 1}\n"s, "a: [1,\n2]\n"s, "--- {a: 1}\n"s, "just words\n"s, "- a\n- b\n"s,
          "---\n- a\n"s, "? memory\n: {provider: x}\n"s, "  a: 1\n"s, "  memory:\n    provider: x\n"s,
          "memory:\n  just\n  words\n"s, "memory:\n  a: 1\n  words\n"s, "memory:\n  provider:\n  - x\n"s,
          "memory:\n  provider:\n\n    deep: 1\n"s})
        EXPECT_TRUE(with(text).starts_with("refused: ")) << text << " gave " << with(text);
    // And these have not.
    for (const std::string& text :
         {"a: it's 5 o'clock\n"s, "a: \"closed # not a comment\" # \" a comment\n"s, "a: [1, {b: 2}] # [\n"s,
          "a:\n- 1\n- 'x: y'\nb: 2\n"s, "--- # here it begins\na: 1\n"s, "a: \"with \\\" inside\"\n"s,
          "url: http://x/[y\n"s})
        EXPECT_EQ(with(text), text + "memory:\n  provider: holdfast\n");
}

// Lines of a value look like anything and are no keys, whatever their indentation.
TEST(YamlKey, AValueOfSeveralLinesIsFollowedToItsEnd) {
    for (std::string_view rest :
         {"  note: \"text\n  provider: fake\"\n  x: 1\n", "  things: [a,\n  provider: fake]\n  x: 1\n",
          "  things: {a: 1,\n    provider: fake} # c\n", "  note: 'it''s\n  provider: fake'\n",
          "  note: \"a \\\" b\n  provider: fake\"\n",
          "  note: >-\n    provider: fake\n\n    \"open\n  x: 1\n",
          "  note: words that\n    \"go\" on\n  x: 1\n",
          "  list:\n  - |\n   \"open\n  - b: |\n     [open\n    c: 1\n",
          "  text: some 'open\n  x: it's [fine\n"}) {
        EXPECT_EQ(with(cat("memory:\n", rest)), cat("memory:\n  provider: holdfast\n", rest));
        EXPECT_EQ(with(cat("memory:\n", rest, "  provider: old\n")),
                  cat("memory:\n", rest, "  provider: holdfast\n"));
        EXPECT_EQ(value(cat("memory:\n", rest)), "(none)");
    }
    for (std::string_view text :
         {"a:\n  b: \"text\n  memory: no\"\nc: 1\n", "a:\n  - 'text\n    memory:\n      provider: x'\nc: 1\n",
          "a:\n  \"q\n  r\"\n", "a: 'wrapped\n  text'\n", "a: [1,\n  2]\n",
          "a:\n  b: {x: [1,\n    2], y: 'z'\n    }\n"})
        EXPECT_EQ(with(text), cat(text, "memory:\n  provider: holdfast\n"));
}

TEST(YamlKey, AValueThatCannotBeFollowedIsRefused) {
    for (std::string_view text :
         {"a:\n  - 'text\nmemory:\n  provider: x'\nc: 1\n", "a:\n  b: \"text\nmemory: no\"\nc: 1\n",
          "a:\n  b: {x: 1,\nmemory: 2}\nc: 1\n", "a:\n  b: \"never closed\nc: 1\n", "a:\n  b: [1,\n  2\n",
          "d: &d\n  memory:\n    on: true\n<<: *d\n", "memory:\n  a: \"x\" y\n",
          "memory:\n  note: one\n   provider: two\n", "\"mem\\u006fry\":\n  provider: x\n",
          "&a memory:\n  provider: x\n", "!!str memory:\n  provider: x\n",
          "memory:\n  \"pro\\u0076ider\": x\n", "memory:\n  provider: 'two\n    lines'\n"})
        EXPECT_TRUE(with(text).starts_with("refused: ")) << text << " gave " << with(text);
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
