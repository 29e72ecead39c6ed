// The options of a keeper as the words that holdfast-keep is executed with.
#include "base/text.hpp"
#include "keep/control.hpp"
#include "keep/keeper_options.hpp"

#include <gtest/gtest.h>

namespace holdfast::keep {

namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

// Each option has another value than its default.
KeeperOptions all_set() {
    KeeperOptions out;
    out.command = {"server", "--", "--protocol=9", ""};
    out.plan = *core::parse_stop_plan("term:7s,kill");
    out.containment = Containment::cgroup;
    out.spare = {"a b", "--x=y"};
    out.restart = Restart::on_failure;
    out.backoff.first = 1ms;
    out.backoff.initial = 2ms;
    out.backoff.max = 3ms;
    out.backoff.reset_after_held = 4ms;
    out.backoff.max_failures = 5;
    out.idle = 6ms;
    out.max_life = 7ms;
    out.memory = 8;
    out.id = "0123456789ab";
    out.control_fd = 9;
    out.host_fd = 10;
    out.life_fds = {11, 12};
    out.own_life_fd = 13;
    out.terminal_fd = 14;
    out.join_group = 15;
    out.log = "/log";
    out.pid_file = "/pid file";
    out.front = 16;
    out.events = "/events";
    out.label = "label=1";
    return out;
}

Words least() {
    KeeperOptions options;
    options.id = "0123456789ab";
    options.control_fd = 240;
    options.command = {"true"};
    return to_argv(options);
}

TEST(KeeperForm, AllOptionsComeBackAsTheyWere) {
    const KeeperOptions before = all_set();
    const auto after = parse_keeper_argv(to_argv(before));
    ASSERT_TRUE(after.has_value()) << after.error().message;
    EXPECT_EQ(to_argv(*after), to_argv(before));
    EXPECT_EQ(after->command, before.command);
    EXPECT_EQ(after->plan, before.plan);
    EXPECT_EQ(after->containment, before.containment);
    EXPECT_EQ(after->spare, before.spare);
    EXPECT_EQ(after->restart, before.restart);
    EXPECT_EQ(after->backoff.first, before.backoff.first);
    EXPECT_EQ(after->backoff.initial, before.backoff.initial);
    EXPECT_EQ(after->backoff.max, before.backoff.max);
    EXPECT_EQ(after->backoff.reset_after_held, before.backoff.reset_after_held);
    EXPECT_EQ(after->backoff.max_failures, before.backoff.max_failures);
    EXPECT_EQ(after->idle, before.idle);
    EXPECT_EQ(after->max_life, before.max_life);
    EXPECT_EQ(after->memory, before.memory);
    EXPECT_EQ(after->id, before.id);
    EXPECT_EQ(after->control_fd, before.control_fd);
    EXPECT_EQ(after->host_fd, before.host_fd);
    EXPECT_EQ(after->life_fds, before.life_fds);
    EXPECT_EQ(after->own_life_fd, before.own_life_fd);
    EXPECT_EQ(after->terminal_fd, before.terminal_fd);
    EXPECT_EQ(after->join_group, before.join_group);
    EXPECT_EQ(after->log, before.log);
    EXPECT_EQ(after->pid_file, before.pid_file);
    EXPECT_EQ(after->front, before.front);
    EXPECT_EQ(after->events, before.events);
    EXPECT_EQ(after->label, before.label);
}

// `ps` shows these words.
TEST(KeeperForm, WhatHasItsDefaultIsNotSaid) {
    EXPECT_EQ(least(), (Words{"holdfast-keep", "--protocol=1", "--control=240", "--id=0123456789ab",
                              "--stop=eof:2000ms,term:2000ms,kill", "--", "true"}));
}

TEST(KeeperForm, AnotherVersionIsNamedAndTheControlSocketFoundAllTheSame) {
    Words words = least();
    EXPECT_EQ(other_protocol_in(words), std::nullopt);
    words[1] = base::cat("--protocol=", protocol_version + 1);
    words[3] = "--a-word-of-the-future=1";
    EXPECT_EQ(other_protocol_in(words), protocol_version + 1);
    EXPECT_EQ(control_fd_in(words), 240);
    EXPECT_FALSE(parse_keeper_argv(words).has_value());
    words.erase(words.begin() + 1);
    EXPECT_EQ(other_protocol_in(words), 0) << "a library from before the first version";
    EXPECT_EQ(other_protocol_in({"holdfast-keep", "--help"}), std::nullopt) << "a person has typed it";
    EXPECT_EQ(control_fd_in({"holdfast-keep", "--", "--control=3"}), -1) << "of the command";
}

TEST(KeeperForm, WordsThatAreOffAreRefused) {
    const auto refused = [](Words words) { return !parse_keeper_argv(words).has_value(); };
    EXPECT_FALSE(refused(least()));
    for (const char* word : {"--life=x", "--life=", "--life=1 ", "--memory=-1", "--idle=1s", "--stop=later",
                             "--contain=box", "--restart=often", "--unknown=1", "life=1", "--life"}) {
        Words words = least();
        words.insert(words.begin() + 3, word);
        EXPECT_TRUE(refused(words)) << word;
    }
    EXPECT_TRUE(refused({}));
    EXPECT_TRUE(refused({"holdfast-keep"}));
    EXPECT_TRUE(refused({"holdfast-keep", "--help"}));
    EXPECT_TRUE(refused({"holdfast-keep", "--protocol=1"}));
    EXPECT_TRUE(refused({"holdfast-keep", "--protocol=1", "--control=3", "--id=1", "--"})) << "no command";
    EXPECT_TRUE(refused({"holdfast-keep", "--protocol=1", "--control=3", "--", "true"})) << "no id";
    EXPECT_TRUE(refused({"holdfast-keep", "--protocol=1", "--id=1", "--", "true"})) << "no control socket";
}

} // namespace

} // namespace holdfast::keep
