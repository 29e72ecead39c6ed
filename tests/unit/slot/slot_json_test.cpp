#include "slot/slot_json.hpp"

#include "json/json_write.hpp"

#include <gtest/gtest.h>

namespace holdfast::slot {
namespace {

TEST(SlotJson, OfAFreeSlotWithoutARecordThereIsNoPid) {
    SlotInfo info;
    info.name = "memory";
    info.epoch = 3;
    EXPECT_EQ(
        json::to_text(json_of(info)),
        R"({"name":"memory","state":"free","pid":null,"other_namespace":false,"stopped":false,"epoch":3,)"
        R"("leftovers":[],"current":false})");
}

TEST(SlotJson, OfAnOwnedSlotItIsAllThatTheOwnerSaid) {
    SlotInfo info;
    info.name = "m";
    info.state = SlotState::owned;
    info.owner_pid = 42;
    info.owner_stopped = true;
    info.epoch = 7;
    info.leftovers = {{.pid = 43, .command = "child"}};
    info.has_record = info.record_is_current = true;
    info.phase = Phase::ready;
    info.status = "says \"hello\"";
    info.progress_done = 1;
    info.progress_total = 2;
    info.progress_age = Millis{3};
    info.age = Millis{4};
    info.since_unix_ms = 5;
    info.argv = {"a", "b c"};
    info.address = "http://127.0.0.1:1/";
    info.version = "0.1";
    info.session = "s";
    EXPECT_EQ(
        json::to_text(json_of(info)),
        R"({"name":"m","state":"owned","pid":42,"other_namespace":false,"stopped":true,"epoch":7,)"
        R"("leftovers":[{"pid":43,"command":"child"}],"current":true,"phase":"ready","status":"says \"hello\"",)"
        R"("progress":{"done":1,"total":2,"age_ms":3},"age_ms":4,"since_unix_ms":5,"argv":["a","b c"],)"
        R"("address":"http://127.0.0.1:1/","session":"s","version":"0.1"})");
}

} // namespace
} // namespace holdfast::slot
