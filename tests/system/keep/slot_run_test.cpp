// A slot and a helper together: the only one of its name, replaced with its whole tree, its leftovers named.
#include "keep/fixture.hpp"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::harness {

namespace {

class SlotRun : public Keep {
protected:
    void hold(const std::string& animal, const Words& words = {}, const Words& options = {}) {
        scene.start(
            {.holdfast = Words{"--slot", "one"} + quickly + options, .command = home.animal(animal, words)});
        ASSERT_FALSE(HasFatalFailure());
    }
};

TEST_F(SlotRun, ASecondIsRefusedAndTheFirstUnharmed) {
    hold("term_ignorer");
    ASSERT_FALSE(HasFatalFailure());
    const auto second = holdfast({"run", "--slot", "one", "--", "/bin/true"});
    EXPECT_TRUE(second.status.exited_with(69)) << second.err;
    EXPECT_NE(second.err.find(std::to_string(scene.front().pid())), std::string::npos) << second.err;
    EXPECT_TRUE(is_alive(scene.animals().front()));
    EXPECT_NE(ps().find("\"slot\":\"one\""), std::string::npos);
}

TEST_F(SlotRun, ATermIgnorerIsReplacedWithItsWholeTree) {
    hold("double_forker");
    ASSERT_FALSE(HasFatalFailure());
    const auto second =
        holdfast(Words{"run", "--slot", "one", "--if-held", "replace", "--grace", "5s", "--"} + sh("exit 8"));
    EXPECT_TRUE(second.status.exited_with(8)) << second.err;
    expect_nothing_left();
}

// The incident this project began with: a starter that takes long was killed and started again for ever.
TEST_F(SlotRun, ASlowStarterIsNeverKilledForBeingSlow) {
    scene.start({.holdfast = {"--slot", "one", "--ready", "notify", "--stop", "term:1h,kill"},
                 .command = home.animal("notifier", {"--steps=20", "--step-ms=100"}),
                 .wait_ready = false});
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(eventually_in_ps("\"phase\":\"starting\""));
    const auto impatient = holdfast({"run", "--slot", "one", "--if-held", "replace", "--stall", "10s",
                                     "--wait", "300ms", "--", "/bin/true"});
    EXPECT_TRUE(impatient.status.exited_with(75)) << to_string(impatient.status) << impatient.err;
    ASSERT_TRUE(eventually_in_ps("\"phase\":\"ready\"")) << "it was let start to the end";
    // Ready, it may be replaced; TERM suffices.
    const auto patient = holdfast(
        Words{"run", "--slot", "one", "--if-held", "replace", "--grace", "10s", "--"} + sh("exit 0"));
    EXPECT_TRUE(patient.status.exited_with(0)) << patient.err;
    EXPECT_EQ(scene.status(), 0) << "it ended by itself";
    EXPECT_EQ(count(events(), "\"killed\""), 0U);
}

TEST_F(SlotRun, AStalledStarterIsReplaced) {
    hold("notifier", {"--steps=5", "--stall-at=1", "--step-ms=1"});
    ASSERT_FALSE(HasFatalFailure());
    const auto second = holdfast({"run", "--slot", "one", "--if-held", "replace", "--stall", "300ms",
                                  "--grace", "2s", "--", "/bin/true"});
    EXPECT_TRUE(second.status.exited_with(0)) << second.err;
    expect_nothing_left();
}

// Those that nobody guards are ended by whoever comes (left_slot_test.cpp); what a keeper guards is waited
// for.
TEST_F(SlotRun, LeftoversAreNamedAndEndedByAReplacement) {
    scene.start(
        {.holdfast = {"--slot", "one", "--stop", "term:1h,kill"}, .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    const std::string left = std::to_string(scene.animals().front());
    scene.front().signal(SIGKILL);
    ASSERT_TRUE(scene.front().ended());
    const auto status = holdfast({"status", "one"});
    EXPECT_TRUE(status.status.exited_with(4)) << status.out << status.err;
    EXPECT_NE((status.out + status.err).find(left), std::string::npos) << status.out;
    const Words other{
        "run", "-p", "other", "--slot", "one", "--slot-dir", home.path() + "/run/default/slots"};
    const auto refused = holdfast(other + Words{"--wait", "100ms", "--", "/bin/true"});
    EXPECT_TRUE(refused.status.exited_with(71)) << to_string(refused.status) << refused.err;
    EXPECT_NE(refused.err.find(left), std::string::npos) << refused.err;
    EXPECT_TRUE(holdfast(other + Words{"--if-held", "replace", "--grace", "100ms", "--", "/bin/true"})
                    .status.exited_with(0));
    expect_nothing_left();
}

TEST_F(SlotRun, AWaiterGetsItWhenTheTreeIsGoneAndNotBefore) {
    hold("double_forker");
    ASSERT_FALSE(HasFatalFailure());
    auto waiter = Child::spawn(
        home.command(Words{"run", "--slot", "one", "--if-held", "wait", "--"} +
                     sh("for p in \"$@\"; do test -d /proc/$p && grep -q '^State:.[^Z]' /proc/$p/status && "
                        "exit 1; done; exit 0",
                        {std::to_string(scene.animals()[0]), std::to_string(scene.animals()[1])})));
    ASSERT_TRUE(waiter);
    scene.front().signal(SIGTERM);
    const auto status = waiter->wait(Deadline::in(patience));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(0)) << "something of the old tree was alive when the new one began";
}

// Files of others that claim that somebody runs: believed only as far as the kernel bears them out.
class Adopt : public Keep {
protected:
    Finished run_with(const std::string& content, const Words& options = {}) {
        EXPECT_TRUE(write_file(pid_file, content));
        return holdfast(Words{"run", "--slot", "one", "--adopt", pid_file} + options +
                        Words{"--", "/bin/echo", "ran"});
    }
    Child stranger() {
        auto spec = home.command_of("zoo/term_ignorer", {});
        auto child = Child::spawn(spec);
        EXPECT_TRUE(child);
        EXPECT_TRUE(child->out().read_line(Deadline::in(patience)));
        return child ? std::move(*child) : Child{};
    }
    static std::string json(pid_t pid, const std::string& start) {
        return "{\"pid\":" + std::to_string(pid) + ",\"kind\":\"bridge\",\"start_time\":" + start + "}";
    }
    static std::string start_ticks(pid_t pid) { return std::to_string(inspect(pid)->start); }
    const std::string pid_file = home.dir().file("other.pid");
};

TEST_F(Adopt, WhatNamesNobodyIsNoObstacle) {
    auto dead = Child::spawn(home.command_of("zoo/exiter", {}));
    ASSERT_TRUE(dead);
    ASSERT_TRUE(dead->wait(Deadline::in(patience)));
    const std::string number = std::to_string(dead->pid());
    for (const std::string& content :
         {number + "\n", json(dead->pid(), "1"), std::string(), std::string("\n"),
          std::string("{\"pid\": 12"), std::string("garbage"),
          std::string("\x7f"
                      "ELF\0\xff\xfe",
                      7),
          std::string("-1"), std::string("0"), std::string("1e3"), std::string("99999999999999"),
          std::string("{\"pid\":\"12\"}"), std::string("[]"), std::string(100'000, '1')}) {
        const auto ran = run_with(content);
        EXPECT_TRUE(ran.status.exited_with(0)) << content << ": " << ran.err;
        EXPECT_EQ(ran.out, "ran\n");
        EXPECT_EQ(ran.err, "");
    }
    EXPECT_TRUE(holdfast({"run", "--slot", "one", "--adopt", home.dir().file("missing"), "--", "/bin/true"})
                    .status.exited_with(0));
}

TEST_F(Adopt, ARecycledNumberIsAStrangerAndIsLeftAlone) {
    auto other = stranger();
    for (const std::string& start : {std::string("1"), std::string("1000000000.5")}) {
        const auto ran = run_with(json(other.pid(), start), {"--if-held", "replace"});
        EXPECT_TRUE(ran.status.exited_with(0)) << ran.err;
        EXPECT_EQ(ran.err, "");
        EXPECT_TRUE(other.alive());
    }
}

TEST_F(Adopt, AProvenHolderIsRefusedWaitedForOrReplaced) {
    auto other = stranger();
    const std::string proof = json(other.pid(), start_ticks(other.pid()));
    const auto refused = run_with(proof);
    EXPECT_TRUE(refused.status.exited_with(69)) << refused.err;
    EXPECT_NE(refused.err.find(std::to_string(other.pid())), std::string::npos) << refused.err;
    EXPECT_TRUE(run_with(proof, {"--if-held", "wait", "--wait", "100ms"}).status.exited_with(75));
    EXPECT_TRUE(other.alive());
    const auto replaced = run_with(proof, {"--if-held", "replace", "--grace", "50ms"});
    EXPECT_TRUE(replaced.status.exited_with(0)) << replaced.err;
    EXPECT_EQ(replaced.out, "ran\n");
    EXPECT_FALSE(other.alive());
    EXPECT_NE(events().find("\"adopted\""), std::string::npos);
}

TEST_F(Adopt, ALivingProcessWithoutProofIsWarnedOfAndLeftAlone) {
    auto other = stranger();
    const auto ran = run_with(std::to_string(other.pid()), {"--if-held", "replace"});
    EXPECT_TRUE(ran.status.exited_with(0)) << ran.err;
    EXPECT_NE(ran.err.find("nothing proves"), std::string::npos) << ran.err;
    EXPECT_TRUE(other.alive());
}

TEST_F(Adopt, TheUserMayVouchByTheCommandLine) {
    auto other = stranger();
    const std::string number = std::to_string(other.pid());
    EXPECT_TRUE(run_with(number, {"--if-held", "replace", "--adopt-match", "some-other-program"})
                    .status.exited_with(0));
    EXPECT_TRUE(other.alive());
    EXPECT_TRUE(
        run_with(number, {"--if-held", "replace", "--grace", "50ms", "--adopt-match", "zoo/term_ignorer"})
            .status.exited_with(0));
    EXPECT_FALSE(other.alive());
    EXPECT_TRUE(run_with(number, {"--adopt-match", "("}).status.exited_with(64));
}

TEST_F(Adopt, AProcessThatRunsAnotherCommandThanTheFileNamesIsNamedAndLeftAlone) {
    auto other = stranger();
    const auto naming = [&](const std::string& argv) {
        return "{\"pid\":" + std::to_string(other.pid()) + ",\"start_time\":" + start_ticks(other.pid()) +
               ",\"argv\":" + argv + "}";
    };
    const auto ran = run_with(naming("[\"bridge\",\"--port\",\"1\"]"), {"--if-held", "replace"});
    EXPECT_TRUE(ran.status.exited_with(0)) << ran.err;
    for (const std::string& part : {std::to_string(other.pid()), std::string("term_ignorer"),
                                    std::string("bridge --port 1"), std::string("--adopt-match")})
        EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
    EXPECT_TRUE(other.alive());
    // Its own command is a proof; and whoever knows better may say so.
    std::string argv;
    for (const std::string& word : home.command_of("zoo/term_ignorer", {}).argv)
        argv += (argv.empty() ? "[\"" : ",\"") + word + "\"";
    EXPECT_TRUE(run_with(naming(argv + "]")).status.exited_with(69));
    EXPECT_TRUE(run_with(naming("[\"bridge\"]"), {"--adopt-match", "no-such-thing"}).status.exited_with(0));
    EXPECT_TRUE(other.alive());
    EXPECT_TRUE(run_with(naming("[\"bridge\"]"),
                         {"--if-held", "replace", "--grace", "50ms", "--adopt-match", "zoo/term_ignorer"})
                    .status.exited_with(0));
    EXPECT_FALSE(other.alive());
}

TEST_F(Adopt, AnotherUsersProcessIsAliveAndNotOurs) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root, to be somebody else";
    auto other = stranger();
    // A place and a program that user 65534 may use.
    const TempDir place;
    ASSERT_EQ(::chown(place.path().c_str(), 65534, 65534), 0);
    std::filesystem::copy_file(program("holdfast"), place.file("holdfast"));
    ASSERT_EQ(::chmod(place.file("holdfast").c_str(), 0755), 0);
    ASSERT_TRUE(write_file(place.file("other.pid"), json(other.pid(), start_ticks(other.pid()))));
    ASSERT_EQ(::chmod(place.file("other.pid").c_str(), 0644), 0);
    auto spec = home.command({});
    spec.argv = {"/usr/bin/setpriv",
                 "--reuid=65534",
                 "--regid=65534",
                 "--clear-groups",
                 place.file("holdfast"),
                 "run",
                 "--slot",
                 "one",
                 "--adopt",
                 place.file("other.pid"),
                 "--if-held",
                 "replace",
                 "--",
                 "/bin/true"};
    std::erase_if(spec.env,
                  [](const std::string& variable) { return variable.starts_with("HOLDFAST_HOME="); });
    spec.env.push_back("HOLDFAST_HOME=" + place.file("home"));
    const auto ran = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran->status.exited_with(77)) << to_string(ran->status) << ran->err;
    EXPECT_TRUE(other.alive());
}

TEST_F(Adopt, APidFileOfOurOwnNamesTheFrontAndGoesWithIt) {
    const std::string own = home.dir().file("own.pid");
    for (const char* format : {"plain", "json"}) {
        scene.start(
            {.holdfast = quickly + Words{"--slot", "one", "--pidfile", own, "--pidfile-format", format},
             .command = home.animal("term_ignorer")});
        ASSERT_FALSE(HasFatalFailure());
        const auto text = read_file(own);
        ASSERT_TRUE(text);
        EXPECT_NE(text->find(std::to_string(scene.front().pid())), std::string::npos) << *text;
        ASSERT_TRUE(scene.host().kill());
        expect_nothing_left();
        EXPECT_FALSE(std::filesystem::exists(own));
    }
}

} // namespace

} // namespace holdfast::harness
