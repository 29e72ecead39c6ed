#include "json/json_fields.hpp"
#include "json/json_parse.hpp"

#include <gtest/gtest.h>

namespace holdfast::json {
namespace {

TEST(JsonFields, a_wrong_type_is_the_same_as_absence) {
    const auto object = parse_object(
        R"({"text":"a","number":-7,"large":18446744073709551615,"flag":true,"list":["a",1,"b",null],"inner":{"x":1}})");
    ASSERT_TRUE(object);
    EXPECT_EQ(text_field(*object, "text"), "a");
    EXPECT_EQ(integer_field(*object, "number"), -7);
    EXPECT_EQ(integer_field(*object, "large"), 0);
    EXPECT_EQ(unsigned_field(*object, "large"), 18446744073709551615U);
    EXPECT_EQ(unsigned_field(*object, "number"), 0U);
    EXPECT_TRUE(bool_field(*object, "flag"));
    EXPECT_EQ(texts_field(*object, "list"), (std::vector<std::string>{"a", "b"}));
    ASSERT_NE(object_field(*object, "inner"), nullptr);
    for (const char* name : {"number", "flag", "list", "inner", "absent"}) {
        EXPECT_EQ(text_field(*object, name), "") << name;
    }
    for (const char* name : {"text", "flag", "list", "inner", "absent"}) {
        EXPECT_EQ(integer_field(*object, name), 0) << name;
        EXPECT_EQ(unsigned_field(*object, name), 0U) << name;
    }
    for (const char* name : {"text", "number", "list", "absent"}) {
        EXPECT_FALSE(bool_field(*object, name)) << name;
        EXPECT_EQ(object_field(*object, name), nullptr) << name;
    }
    EXPECT_TRUE(texts_field(*object, "text").empty());
}

} // namespace
} // namespace holdfast::json
