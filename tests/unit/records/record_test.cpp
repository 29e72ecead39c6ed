// A record that cannot be read is no record, whatever stands in the file; a readable one comes back whole.
#include "records/record.hpp"

#include "json/json.hpp"
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace holdfast::records {
using namespace base;
namespace {

Record full() {
    return {.name = "memory",
            .epoch = 12,
            .phase = Phase::ready,
            .status = "655 MB database open",
            .progress_done = 655,
            .progress_total = 655,
            .progress_at = 120'000,
            .patience_until = 180'000,
            .since = 100'000,
            .since_unix_ms = 1'790'000'000'000,
            .identity = {.boot_id = "b00t",
                         .pid_ns = 4026531836,
                         .pid = 4711,
                         .start_ticks = 98765,
                         .pidfd_inode = 4242,
                         .token = "00ff"},
            .version = "0.1.0",
            .argv = {"node", "server.js", "--name", "a) b (c"},
            .address = "unix:/run/x.sock",
            .session = "s1",
            .takeovers = {101'000, 102'000},
            .entry = "/run/user/1000/holdfast/default/helpers/0123456789ab.lock"};
}

TEST(Record, ComesBackWhole) {
    auto back = record_from_json(to_json(full()));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, full());
}

// Written by hand, read by a library: a tree of the same text is written as the same text.
TEST(Record, IsTheTextThatItsTreeHas) {
    Record record = full();
    record.argv = {"plain", "quote\" back\\slash", "line\nbreak \x01", "caf\xc3\xa9", ""};
    record.helper = HelperFacts{.label = "a \"b\"", .restarts = 3, .spare = {"x*", "y"}, .exit_status = -1};
    const std::string text = to_json(record);
    ASSERT_TRUE(text.ends_with("}\n"));
    const auto tree = boost::json::parse(text);
    EXPECT_EQ(boost::json::serialize(tree) + "\n", text);
    EXPECT_EQ(tree.as_object().begin()->key(), "written");
    EXPECT_EQ(std::prev(tree.as_object().end())->key(), "whole");
}

TEST(Record, ComesBackWholeAtTheLimitsOfItsNumbers) {
    Record extreme = full();
    extreme.epoch = std::numeric_limits<std::uint64_t>::max();
    extreme.progress_done = std::numeric_limits<std::uint64_t>::max();
    extreme.progress_at = std::numeric_limits<std::int64_t>::max();
    extreme.since = std::numeric_limits<std::int64_t>::min();
    extreme.takeovers = {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    auto back = record_from_json(to_json(extreme));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, extreme);
}

// A command line is bytes, not text: a record that carries one must stay readable and must not change it.
TEST(Record, CarriesAnyBytesOfACommandLine) {
    Record odd = full();
    std::string all;
    for (int byte = 1; byte < 256; ++byte)
        all += static_cast<char>(byte);
    odd.argv = {all, "\xff\xfe", "quote\" back\\slash", "\xf0\x9f\x90\x99", ""};
    odd.status = "\x80 torn \xc3";
    auto back = record_from_json(to_json(odd));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, odd);
}

TEST(Record, TornAtEveryByteIsNoRecord) {
    std::string whole = to_json(full());
    // Without its closing brace (and newline) nothing is whole.
    for (std::size_t length = 0; length + 2 <= whole.size(); ++length)
        ASSERT_FALSE(record_from_json(std::string_view(whole).substr(0, length))) << length;
    EXPECT_TRUE(record_from_json(std::string_view(whole).substr(0, whole.size() - 1)));
}

// A reader that two writers have overtaken reads the head of one text and the tail of another.
TEST(Record, PartsOfTwoTextsAreNoRecord) {
    Record older = full(), newer = full();
    older.written = 1'000'000'001;
    newer.written = 1'000'000'002;
    newer.phase = Phase::draining;
    newer.progress_done = older.progress_done + 1;
    newer.since = older.since + 1;
    const std::string before = to_json(older), after = to_json(newer);
    ASSERT_EQ(before.size() + 3, after.size()); // "draining" for "starting" or the like
    for (std::size_t cut = 0; cut <= before.size(); ++cut) {
        if (const auto got = record_from_json(after.substr(0, cut) + before.substr(cut))) {
            EXPECT_TRUE(*got == older || *got == newer) << "cut at " << cut;
        }
        if (const auto got = record_from_json(before.substr(0, cut) + after.substr(cut))) {
            EXPECT_TRUE(*got == older || *got == newer) << "cut at " << cut;
        }
    }
    // A shorter text over a longer one, before the rest of that is cut off.
    for (std::size_t left = 2; left < before.size(); ++left)
        EXPECT_FALSE(record_from_json(after + before.substr(before.size() - left))) << left;
}

TEST(Record, ForeignTextsAreNoRecord) {
    std::string deep = R"({"schema":1,"phase":"ready","identity":)" + std::string(100'000, '[');
    for (const std::string& text :
         {std::string(), std::string("4711\n"), std::string("4711"), std::string("null"), std::string("[]"),
          std::string("{}"), std::string(R"({"pid":1})"), std::string(4096, '\0'),
          std::string("\x7f"
                      "ELF\x02\x01\x01"),
          std::string(R"({"schema":2,"phase":"ready","identity":{}})"),
          std::string(R"({"schema":"1","phase":"ready","identity":{}})"),
          std::string(R"({"schema":1,"phase":"napping","identity":{}})"),
          std::string(R"({"schema":1,"phase":3,"identity":{}})"),
          std::string(R"({"schema":1,"phase":"ready","identity":7})"),
          std::string(R"({"schema":1,"phase":"ready"})"),
          // As the Hermes gateway writes its PID file: a holder of another kind, not a record.
          std::string(R"({"pid":77,"kind":"hermes-gateway","argv":["x"],"start_time":123})"), deep})
        EXPECT_FALSE(record_from_json(text)) << text.substr(0, 60);
}

TEST(Record, WrongTypesInsideAreAbsentFields) {
    auto got = record_from_json(
        R"({"schema":1,"phase":"starting","name":5,"epoch":-1,"status":[],"progress_done":1.5,"since":"x",
            "identity":{"pid":-4,"pid_ns":-1,"start_ticks":"1","boot_id":7},"argv":["a",1,null,"b"],"takeovers":[1,"2",3.5,4]})");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->name, "");
    EXPECT_EQ(got->epoch, 0u);
    EXPECT_EQ(got->progress_done, 0u);
    EXPECT_EQ(got->since, 0);
    EXPECT_EQ(got->identity, Identity{});
    EXPECT_EQ(got->argv, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(got->takeovers, (std::vector<std::int64_t>{1, 4}));
}

TEST(Record, APidBeyondTheKernelsIsNone) {
    for (const char* pid : {"4194305", "99999999999", "-1", "0", "1.0e3"}) {
        auto got =
            record_from_json(std::string(R"({"schema":1,"phase":"ready","identity":{"pid":)") + pid + "}}");
        ASSERT_TRUE(got) << pid;
        EXPECT_EQ(got->identity.pid, 0) << pid;
    }
}

TEST(Record, ALargerFileIsNotOurs) {
    Record big = full();
    big.status.assign(records::max_record_bytes, 'x');
    EXPECT_FALSE(record_from_json(to_json(big)));
    big.status.assign(records::max_record_bytes / 2, 'x');
    EXPECT_TRUE(record_from_json(to_json(big)));
}

// Bytes changed at random, always the same ones: no crash, and what comes back is a record or nothing.
TEST(Record, RandomDamageNeverHarms) {
    std::mt19937 random(20240229);
    std::string whole = to_json(full());
    int records = 0;
    for (int round = 0; round < 5000; ++round) {
        std::string damaged = whole;
        for (int hits = 0; hits < 1 + round % 8; ++hits)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        if (auto got = record_from_json(damaged)) {
            ++records;
            EXPECT_LE(got->identity.pid, 4'194'304);
            EXPECT_GE(got->identity.pid, 0);
        }
    }
    EXPECT_GT(records, 0);
    EXPECT_LT(records, 5000);
}

} // namespace
} // namespace holdfast::records
