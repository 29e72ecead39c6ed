// PID files of others: what counts as an entry, and what an entry proves.
#include "records/pid_file.hpp"

#include <gtest/gtest.h>

namespace holdfast::records {
namespace {

TEST(PidFile, APlainNumberOrAnObjectWithOneIsAnEntry) {
    EXPECT_EQ(parse_pid_file("4711")->pid, 4711);
    EXPECT_EQ(parse_pid_file(" 4711 \r\n")->pid, 4711);
    auto entry = parse_pid_file(
        R"({"pid": 4711, "start_time": 123456, "argv": ["node", "server.js"], "kind": "bridge"})");
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->pid, 4711);
    EXPECT_EQ(entry->start_time, 123456.0);
    EXPECT_EQ(entry->argv, (std::vector<std::string>{"node", "server.js"}));
    EXPECT_EQ(entry->kind, "bridge");
    EXPECT_EQ(parse_pid_file(R"({"pid":1,"start_time":1700000000.25})")->start_time, 1700000000.25);
    EXPECT_FALSE(parse_pid_file(R"({"pid":1,"start_time":"soon"})")->start_time);
}

TEST(PidFile, WhatIsNeitherIsNone) {
    for (const char* text : {"", "\n", " ", "-1", "0", "4194305", "99999999999999", "1e3", "12 13",
                             "{\"pid\": 12", "{\"pid\":\"12\"}", "{\"pid\":0}", "{\"pid\":-4}", "[]", "null",
                             "\x7f"
                             "ELF"})
        EXPECT_FALSE(parse_pid_file(text)) << text;
}

TEST(PidFile, WhatWeWriteWeRead) {
    EXPECT_EQ(parse_pid_file(plain_pid_file(4711))->pid, 4711);
    auto entry = parse_pid_file(json_pid_file(4711, 99, {"a", "b c"}, "kind"));
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->pid, 4711);
    EXPECT_EQ(entry->start_time, 99.0);
    EXPECT_EQ(entry->argv, (std::vector<std::string>{"a", "b c"}));
    EXPECT_EQ(entry->kind, "kind");
}

PidFileEntry started(double at) {
    return {.pid = 4711, .start_time = at, .argv = {}, .kind = {}};
}

constexpr double unix_start = 1'700'000'000.5;

TEST(PidFile, TicksProveToTheTick) {
    EXPECT_EQ(judge_pid_file(started(5000), 5000, unix_start), PidFileProof::proven);
    EXPECT_EQ(judge_pid_file(started(5001), 5000, unix_start), PidFileProof::recycled);
    EXPECT_EQ(judge_pid_file({.pid = 4711, .start_time = {}, .argv = {}, .kind = {}}, 5000, unix_start),
              PidFileProof::unproven);
}

// A machine that has been up for four months counts ticks that look like seconds since 1970.
TEST(PidFile, TicksOfALongUptimeAreTicksStill) {
    const std::uint64_t ticks = 1'500'000'042;
    EXPECT_EQ(judge_pid_file(started(1'500'000'042), ticks, unix_start), PidFileProof::proven);
    EXPECT_EQ(judge_pid_file(started(1'500'000'043), ticks, unix_start), PidFileProof::recycled);
}

TEST(PidFile, SecondsProveToWithinTwo) {
    for (double off : {-2.0, -0.5, 0.0, 1.9})
        EXPECT_EQ(judge_pid_file(started(unix_start + off), 5000, unix_start), PidFileProof::proven) << off;
    for (double off : {-2.1, 2.1, 3600.0})
        EXPECT_EQ(judge_pid_file(started(unix_start + off), 5000, unix_start), PidFileProof::recycled) << off;
}

using Words = std::vector<std::string>;

TEST(PidFile, TheCommandThatAFileNamesIsFoundInTheCommandLine) {
    EXPECT_TRUE(runs_command({}, {"anything"}));
    EXPECT_TRUE(runs_command({"bridge", "--port", "1"}, {"bridge", "--port", "1"}));
    EXPECT_TRUE(runs_command({"/opt/x/bridge", "run"}, {"python3", "/usr/bin/bridge", "run"}));
    EXPECT_TRUE(runs_command({"bridge"}, {"holdfast", "run", "--slot", "b", "--", "./bridge"}));
    EXPECT_TRUE(runs_command({"/lib/py/hermes_cli/main.py", "gateway"},
                             {"python3", "-m", "hermes_cli.main", "gateway"}));
    EXPECT_TRUE(runs_command({"/lib/py/bridge/__main__.py"}, {"python3", "-m", "bridge"}));
}

TEST(PidFile, AnotherCommandIsNotIt) {
    for (const Words& line : std::vector<Words>{{},
                                                {""},
                                                {"sleep", "60"},
                                                {"bridge"},
                                                {"bridge", "--port", "2"},
                                                {"bridge", "--port", "1", "more"},
                                                {"other-bridge", "--port", "1"},
                                                {"sh", "-c", "bridge --port 1"}})
        EXPECT_FALSE(runs_command({"bridge", "--port", "1"}, line));
    EXPECT_FALSE(runs_command({"/lib/main.py"}, {"python3", "-m", "domain"}));
    EXPECT_FALSE(runs_command({""}, {""}));
}

TEST(PidFile, AProcessThatIsYoungerThanTheFileDidNotWriteIt) {
    const PidFileEntry plain{.pid = 4711, .start_time = {}, .argv = {}, .kind = {}};
    EXPECT_TRUE(may_have_written(plain, 5000, unix_start, unix_start + 60));
    EXPECT_TRUE(may_have_written(plain, 5000, unix_start, unix_start - 1)) << "clocks are good to a second";
    EXPECT_FALSE(may_have_written(plain, 5000, unix_start, unix_start - 60));
    // A start time in the file says more than the file's age.
    EXPECT_TRUE(may_have_written(started(5000), 5000, unix_start, unix_start - 60));
    EXPECT_FALSE(may_have_written(started(4999), 5000, unix_start, unix_start + 60));
}

} // namespace
} // namespace holdfast::records
