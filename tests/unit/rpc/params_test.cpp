// Parameters: what is taken, and the first complaint.
#include "rpc/params.hpp"

#include <gtest/gtest.h>

#include <cstdint>

using namespace holdfast;
using rpc::Params;

namespace {

TEST(Params, absent_and_null_are_the_same) {
    Params params({{"a", nullptr}});
    for (const char* name : {"a", "b"}) {
        EXPECT_EQ(params.text(name, false), "");
        EXPECT_FALSE(params.integer(name, false, 0, 9));
        EXPECT_FALSE(params.number(name, 0, 9));
        EXPECT_FALSE(params.flag(name));
        EXPECT_FALSE(params.list(name, false));
    }
    EXPECT_EQ(params.complaint(), "");
    (void)params.text("a", true);
    EXPECT_EQ(params.complaint(), "a is required");
}

TEST(Params, the_first_complaint_is_kept) {
    Params params({{"a", 1}, {"b", ""}});
    (void)params.text("a", false);
    (void)params.word("b", true);
    (void)params.integer("c", true, 0, 1);
    EXPECT_EQ(params.complaint(), "a must be a string");
}

TEST(Params, each_kind_says_what_it_wants) {
    const auto complaint_of = [](auto read) {
        Params params({{"text", "t"}, {"empty", ""}, {"number", 5}, {"half", 0.5}, {"list", json::array{1}}});
        read(params);
        return params.complaint();
    };
    EXPECT_EQ(complaint_of([](Params& p) { (void)p.word("empty", true); }), "empty must not be empty");
    EXPECT_EQ(complaint_of([](Params& p) { (void)p.integer("text", false, 0, 9); }), "text must be a number");
    EXPECT_EQ(complaint_of([](Params& p) { (void)p.integer("number", false, 0, 4); }),
              "number must be from 0 to 4");
    EXPECT_EQ(complaint_of([](Params& p) { (void)p.number("text", 0, 1); }), "text must be a number");
    EXPECT_EQ(complaint_of([](Params& p) { (void)p.number("number", 0, 1); }), "number is out of range");
    EXPECT_EQ(complaint_of([](Params& p) { (void)p.flag("number"); }), "number must be true or false");
    EXPECT_EQ(complaint_of([](Params& p) { (void)p.list("text", false); }), "text must be a list");
    EXPECT_EQ(complaint_of([](Params& p) { (void)p.one_of("text", {"x", "y"}); }),
              "text must be one of x, y");
    EXPECT_EQ(complaint_of([](Params& p) { (void)p.one_of("text", {"x", "t"}); }), "");
    EXPECT_EQ(complaint_of([](Params& p) { EXPECT_EQ(p.number("half", 0, 1), 0.5); }), "");
    EXPECT_EQ(complaint_of([](Params& p) { EXPECT_TRUE(p.list("list", true)); }), "");
}

TEST(Params, whole_numbers_come_in_three_forms) {
    Params params({{"a", 7}, {"b", 7.0}, {"c", std::uint64_t{7}}, {"d", UINT64_MAX}});
    for (const char* name : {"a", "b", "c"})
        EXPECT_EQ(params.integer(name, true, 0, 9), 7) << name;
    EXPECT_EQ(params.complaint(), "");
    EXPECT_FALSE(params.integer("d", true, 0, 9));
    EXPECT_EQ(params.complaint(), "d must be a number");
}

} // namespace
