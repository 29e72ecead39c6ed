// An identity survives the way through an environment variable, and nothing else passes for one.
#include "base/identity_text.hpp"

#include "records/helper_facts.hpp"
#include "json/json_fields.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include "json/json.hpp"
#include <gtest/gtest.h>

namespace holdfast::records {
using namespace base;
using namespace json;
namespace {

const Identity full{
    .boot_id = "0e1b-22", .pid_ns = 4026531836, .pid = 4711, .start_ticks = 98765, .pidfd_inode = 4242};

TEST(IdentityText, ComesBackWhole) {
    auto back = identity_from_word(to_word(full));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, full);
    Identity old = full;
    old.pidfd_inode = 0;
    EXPECT_EQ(identity_from_word(to_word(old)), old);
}

TEST(IdentityText, LeavesTheTokenOut) {
    Identity secret = full;
    secret.token = "s3cret";
    EXPECT_EQ(to_word(secret).find("s3cret"), std::string::npos);
}

TEST(IdentityText, RefusesAllElse) {
    for (const char* word :
         {"", "4711", "4711:1", "4711:1:2:3", "4711:1:2:3:", "0:1:2:3:b", "-5:1:2:3:b", "x:1:2:3:b",
          "4711:-1:2:3:b", "4711:1::3:b", "99999999999:1:2:3:b", " 4711:1:2:3:b", "4711 :1:2:3:b"})
        EXPECT_FALSE(identity_from_word(word)) << word;
}

TEST(HelperFacts, OfARegisteredProcessComeBackWhole) {
    HelperFacts facts{.label = "worker",
                      .helper = full,
                      .host_pid = 12,
                      .host = full,
                      .task = "t",
                      .registered = true,
                      .registered_by = "my-host",
                      .ended_at = 123456,
                      .exit_status = -1};
    Writer out;
    out.open();
    write_fields(out, facts);
    out.close();
    const auto object = parse_object(std::move(out).take());
    ASSERT_TRUE(object);
    EXPECT_EQ(helper_facts_from(*object), facts);
}

} // namespace
} // namespace holdfast::records
