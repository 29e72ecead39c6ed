// The slot commands as people and scripts meet them: each command, in each state of a slot, with its words,
// its JSON and its exit code.
#include "keep/fixture.hpp"

#include "harness/pidfd.hpp"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::harness {

namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class SlotCli : public Keep {
protected:
    // A run in the background whose host is the test.
    Child begin(const std::string& slot, const Words& command, const Words& options = {}) const {
        auto child =
            Child::spawn(home.command(Words{"run", "--slot", slot} + options + Words{"--"} + command));
        EXPECT_TRUE(child) << child.error().message;
        return child ? std::move(*child) : Child{};
    }
    Child hold(const std::string& slot, const Words& command = {"sleep", "3600"},
               const Words& options = {}) const {
        Child child = begin(slot, command, options);
        EXPECT_TRUE(holdfast({"wait", slot, "--for", "ready", "--wait", "20s"}).status.exited_with(0));
        return child;
    }
    // An owner that is dead, and whose command lives on; its number.
    std::string orphan() {
        scene.start(
            {.holdfast = Words{"--slot", "orphan"} + quickly, .command = home.animal("term_ignorer")});
        if (HasFatalFailure())
            return {};
        scene.kill_both_guards();
        return std::to_string(scene.animals().front());
    }
    Words speaker(const std::string& text, const Words& more = {}) const {
        return home.animal("notifier", Words{"--steps=0", "--say=" + text} + more);
    }
    [[nodiscard]] std::string slots_directory() const { return home.path() + "/run/default/slots"; }
};

TEST_F(SlotCli, StatusOfASlotThatNeverWas) {
    const auto text = holdfast({"status", "one"});
    EXPECT_TRUE(text.status.exited_with(3));
    EXPECT_EQ(text.out, "one: free\n");
    const auto json = holdfast({"status", "one", "--json"});
    EXPECT_TRUE(json.status.exited_with(3));
    EXPECT_TRUE(has(json.out, "\"state\":\"free\",\"pid\":null")) << json.out;
}

TEST_F(SlotCli, StatusOfAnOwner) {
    Child owner = hold("one", speaker("STATUS=warm\nHOLDFAST_ADDRESS=unix:/x\n"), {"--session", "S"});
    ASSERT_TRUE(
        eventually(Deadline::in(patience), [&] { return has(holdfast({"status", "one"}).out, "unix:/x"); }));
    const auto text = holdfast({"status", "one"});
    EXPECT_TRUE(text.status.exited_with(0));
    for (const std::string& line :
         {std::string("one: owned\n"), "process " + std::to_string(owner.pid()) + "\n",
          std::string("phase     ready\n"), std::string("status    warm\n"),
          std::string("address   unix:/x\n"), std::string("session   S\n"), std::string("epoch     1\n")})
        EXPECT_TRUE(has(text.out, line)) << line << "in\n" << text.out;
    const auto json = holdfast({"status", "one", "--json"});
    EXPECT_TRUE(json.status.exited_with(0));
    for (const std::string& part :
         {std::string("\"state\":\"owned\""), "\"pid\":" + std::to_string(owner.pid()),
          std::string("\"epoch\":1"), std::string("\"current\":true"), std::string("\"phase\":\"ready\""),
          std::string("\"address\":\"unix:/x\""), std::string("\"leftovers\":[]")})
        EXPECT_TRUE(has(json.out, part)) << part << " in\n" << json.out;
}

TEST_F(SlotCli, StatusOfAnOrphanNamesWhatIsLeft) {
    const std::string left = orphan();
    ASSERT_FALSE(HasFatalFailure());
    const auto text = holdfast({"status", "orphan"});
    EXPECT_TRUE(text.status.exited_with(4));
    EXPECT_TRUE(has(text.out, "orphan: orphaned\n  left over process " + left)) << text.out;
    const auto json = holdfast({"status", "orphan", "--json"});
    EXPECT_TRUE(json.status.exited_with(4));
    EXPECT_TRUE(has(json.out, "\"leftovers\":[{\"pid\":" + left)) << json.out;
}

TEST_F(SlotCli, SlotsListsEachState) {
    EXPECT_TRUE(has(holdfast({"slots"}).out, "no slots yet"));
    EXPECT_EQ(holdfast({"slots", "--json"}).out, "[]\n");
    EXPECT_TRUE(holdfast({"run", "--slot", "idle", "--", "/bin/true"}).status.exited_with(0));
    Child owner = hold("busy");
    (void)orphan();
    ASSERT_FALSE(HasFatalFailure());
    const auto text = holdfast({"slots"});
    EXPECT_TRUE(text.status.exited_with(0));
    EXPECT_EQ(count(text.out, "\n"), 4U) << text.out;
    EXPECT_TRUE(has(text.out, "busy    owned     " + std::to_string(owner.pid()))) << text.out;
    EXPECT_TRUE(has(text.out, "idle    free      -")) << text.out;
    EXPECT_TRUE(has(text.out, "orphan  orphaned  1 left")) << text.out;
    const auto json = holdfast({"slots", "--json"});
    for (const char* part : {"\"name\":\"busy\",\"state\":\"owned\"", "\"name\":\"idle\",\"state\":\"free\"",
                             "\"name\":\"orphan\",\"state\":\"orphaned\""})
        EXPECT_TRUE(has(json.out, part)) << part << " in\n" << json.out;
}

TEST_F(SlotCli, WaitForReadyAndForFree) {
    EXPECT_TRUE(holdfast({"wait", "one", "--for", "free"}).status.exited_with(0));
    const auto early = holdfast({"wait", "one", "--for", "ready", "--wait", "50ms"});
    EXPECT_TRUE(early.status.exited_with(75)) << early.err;
    EXPECT_TRUE(has(early.err, "is not ready yet: free")) << early.err;
    auto ready = Child::spawn(home.command({"wait", "one", "--for", "ready", "--json"}));
    ASSERT_TRUE(ready);
    Child owner = begin("one", home.animal("notifier", {"--steps=3", "--step-ms=20"}), {"--ready", "notify"});
    const auto line = ready->out().read_line(Deadline::in(patience));
    ASSERT_TRUE(line);
    EXPECT_TRUE(has(*line, "\"phase\":\"ready\"")) << *line;
    EXPECT_TRUE(ready->wait(Deadline::in(patience))->exited_with(0));
    const auto late = holdfast({"wait", "one", "--for", "free", "--wait", "50ms"});
    EXPECT_TRUE(late.status.exited_with(75)) << late.err;
    EXPECT_TRUE(has(late.err, "owned, process " + std::to_string(owner.pid()))) << late.err;
    auto free = Child::spawn(home.command({"wait", "one", "--for", "free"}));
    ASSERT_TRUE(free);
    ASSERT_TRUE(owner.signal(SIGTERM));
    EXPECT_TRUE(free->wait(Deadline::in(patience))->exited_with(0));
    EXPECT_TRUE(holdfast({"wait", "one"}).status.exited_with(64));
    EXPECT_TRUE(holdfast({"wait", "one", "--for", "rain"}).status.exited_with(64));
    EXPECT_TRUE(holdfast({"wait"}).status.exited_with(64));
}

TEST_F(SlotCli, AttachPrintsWhereTheOwnerIs) {
    const Words attach{"run", "--slot", "one", "--if-held", "attach"};
    const Words command{"--", "/bin/echo", "ran"};
    EXPECT_EQ(holdfast(attach + command).out, "ran\n") << "nobody is there: it becomes the owner";
    Child owner = hold("one");
    auto attached = holdfast(attach + command);
    EXPECT_TRUE(attached.status.exited_with(0)) << attached.err;
    EXPECT_EQ(attached.out, "pid " + std::to_string(owner.pid()) + "\n");
    attached = holdfast(attach + Words{"--json"} + command);
    EXPECT_TRUE(has(attached.out, "\"pid\":" + std::to_string(owner.pid()))) << attached.out;
    Child speaking = hold("two", speaker("HOLDFAST_ADDRESS=unix:/x\n"));
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] {
        return holdfast(Words{"run", "--slot", "two", "--if-held", "attach"} + command).out == "unix:/x\n";
    }));
}

TEST_F(SlotCli, AttachToAnOwnerThatHasNoNumberHereSaysSo) {
    Child owner = hold("one");
    auto spec = home.command({});
    const Words inside{"unshare", "-Urpf", program("holdfast"), "run", "--slot", "one", "--if-held",
                       "attach",  "--",    "/bin/echo",         "ran"};
    spec.argv = {"unshare", "-Urpf", "true"};
    const auto possible = run_to_end(spec, Deadline::in(patience));
    if (!possible || !possible->status.exited_with(0))
        GTEST_SKIP() << "this machine does not allow PID namespaces";
    spec.argv = inside;
    const auto attached = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(attached) << attached.error().message;
    EXPECT_TRUE(attached->status.exited_with(0)) << to_string(attached->status) << attached->err;
    EXPECT_EQ(attached->out, "in another PID namespace\n");
}

// An owner that is leaving is not one to count on: "held" and "attached" would be wrong in a moment.
TEST_F(SlotCli, WhoFindsAnOwnerLeavingWaitsForItsEnd) {
    for (const char* policy : {"refuse", "attach"}) {
        Child owner =
            hold("one", speaker("STATUS=listening\n", {"--stop-ms=3600000"}), {"--stop", "term:1h,kill"});
        // Before it has come so far TERM ends it at once.
        ASSERT_TRUE(eventually(Deadline::in(patience),
                               [&] { return has(holdfast({"status", "one"}).out, "status    listening"); }));
        ASSERT_TRUE(owner.signal(SIGTERM));
        ASSERT_TRUE(eventually(Deadline::in(patience),
                               [&] { return has(holdfast({"status", "one"}).out, "phase     draining"); }));
        const auto short_of_time =
            holdfast({"run", "--slot", "one", "--if-held", policy, "--wait", "10ms", "--", "/bin/true"});
        EXPECT_TRUE(short_of_time.status.exited_with(75)) << policy << short_of_time.err;
        EXPECT_TRUE(has(short_of_time.err, "draining")) << short_of_time.err;
        auto next = Child::spawn(
            home.command({"run", "--slot", "one", "--if-held", policy, "--", "/bin/echo", "ran"}));
        ASSERT_TRUE(next);
        // It leaves when we say so, and not when some time is over.
        for (const auto& process : descendants(owner.pid()))
            if (process.name == "notifier")
                if (const auto leaving = open_pidfd(process.pid)) {
                    EXPECT_EQ(pidfd_signal(leaving->get(), SIGKILL), 0);
                }
        EXPECT_TRUE(next->out().read_until("ran\n", Deadline::in(patience))) << policy;
        const auto status = next->wait(Deadline::in(patience));
        EXPECT_TRUE(status && status->exited_with(0)) << policy;
        EXPECT_TRUE(owner.wait(Deadline::in(patience)));
    }
}

TEST_F(SlotCli, StopSaysWhatItDid) {
    EXPECT_TRUE(holdfast({"stop", "one"}).status.exited_with(3));
    Child owner = hold("one");
    const auto stopped = holdfast({"stop", "one"});
    EXPECT_TRUE(stopped.status.exited_with(0)) << stopped.err;
    EXPECT_EQ(stopped.out, "stopped slot one\n");
    EXPECT_TRUE(owner.wait(Deadline::in(patience)));
    const auto again = holdfast({"stop", "one"});
    EXPECT_TRUE(again.status.exited_with(0));
    EXPECT_EQ(again.out, "nothing to stop\n");
    const std::string left = orphan();
    ASSERT_FALSE(HasFatalFailure());
    const auto cleared = holdfast({"stop", "orphan", "--grace", "50ms", "--json"});
    EXPECT_TRUE(cleared.status.exited_with(0)) << cleared.err;
    EXPECT_TRUE(has(cleared.out, "\"stopped\":true,\"successor\":null,\"error\":null")) << cleared.out;
    EXPECT_TRUE(holdfast({"status", "orphan"}).status.exited_with(3));
}

// G8. While the slow one is waited for, the other's waiter becomes its owner: that one nobody meant.
TEST_F(SlotCli, StopLeavesTheNextOwnerAloneHoweverLongItTakes) {
    for (const char* form : {"text", "json"}) {
        Child slow = hold("slow", speaker("STATUS=x\n", {"--stop-ms=1000"}), {"--stop", "term:1h,kill"});
        Child first = hold("b");
        Child waiter = begin("b", {"sleep", "3600"}, {"--if-held", "wait"});
        ASSERT_TRUE(eventually(Deadline::in(patience), [&] { return !descendants(waiter.pid()).empty(); }));
        const bool json = form == std::string("json");
        const auto stopped =
            holdfast(Words{"stop", "slow", "b", "--grace", "20s"} + (json ? Words{"--json"} : Words{}));
        EXPECT_TRUE(stopped.status.exited_with(0)) << to_string(stopped.status) << stopped.err;
        const std::string number = std::to_string(waiter.pid());
        const std::string expected =
            json ? "\"successor\":{\"name\":\"b\",\"state\":\"owned\",\"pid\":" + number
                 : "stopped slot slow\nstopped slot b; somebody who waited owns it now: process " + number;
        EXPECT_TRUE(has(stopped.out, expected)) << stopped.out;
        EXPECT_TRUE(first.wait(Deadline::in(patience)));
        EXPECT_TRUE(slow.wait(Deadline::in(patience)));
        EXPECT_TRUE(waiter.alive());
        EXPECT_TRUE(has(holdfast({"status", "b"}).out, "process " + number));
        EXPECT_EQ(holdfast({"stop", "b"}).out, "stopped slot b\n");
    }
}

TEST_F(SlotCli, WatchShowsEachChangeAlsoAfterTheDirectoryWasWiped) {
    // The directory is there when the watch begins: without one it would look again every second anyway.
    EXPECT_TRUE(holdfast({"run", "--slot", "one", "--", "/bin/true"}).status.exited_with(0));
    auto watch = Child::spawn(home.command({"slots", "--watch"}));
    ASSERT_TRUE(watch);
    auto shows = [&](const char* line) {
        const auto seen = watch->out().read_line_matching(std::regex(line), Deadline::in(patience));
        EXPECT_TRUE(seen) << line;
        return seen.has_value();
    };
    ASSERT_TRUE(shows("^one +free "));
    {
        Child owner = hold("one");
        ASSERT_TRUE(shows("^one +owned .* ready "));
        ASSERT_TRUE(owner.signal(SIGTERM));
        ASSERT_TRUE(owner.wait(Deadline::in(patience)));
    }
    ASSERT_TRUE(shows("^one +free "));
    for (int round = 0; round < 2; ++round) {
        fs::remove_all(home.path() + "/run");
        ASSERT_TRUE(shows("^no slots yet"));
        Child owner = hold("two");
        ASSERT_TRUE(shows("^two +owned "));
        ASSERT_TRUE(owner.signal(SIGTERM));
        ASSERT_TRUE(owner.wait(Deadline::in(patience)));
    }
    ASSERT_TRUE(watch->signal(SIGINT));
    EXPECT_TRUE(watch->wait(Deadline::in(patience))->exited_with(0));
}

TEST_F(SlotCli, WatchEndsWithItsReader) {
    auto spec = home.command({});
    spec.argv = {"/bin/sh", "-c", "\"$1\" slots --watch | head -n 1", "sh", program("holdfast")};
    const auto ended = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_TRUE(has(ended->out, "no slots yet"));
}

TEST_F(SlotCli, NothingAnOwnerSaysSteersTheTerminal) {
    Child owner = hold("one", speaker("STATUS=a\033[31mb\nHOLDFAST_ADDRESS=x\033]0;y\007\n"),
                       {"--session", "s\033[2J"});
    ASSERT_TRUE(
        eventually(Deadline::in(patience), [&] { return has(holdfast({"status", "one"}).out, "address"); }));
    for (const Words& words :
         {Words{"status", "one"}, Words{"slots"}, Words{"slots", "--json"}, Words{"status", "one", "--json"},
          Words{"run", "--slot", "one", "--if-held", "attach", "--", "/bin/true"},
          Words{"status", "bad\033[31mname"}, Words{"stop", "bad\033[31mname"},
          Words{"run", "--slot", "bad\033[31mname", "--", "/bin/true"}}) {
        const auto said = holdfast(words);
        EXPECT_FALSE(has(said.out + said.err, "\033")) << words.front() << ": " << said.out << said.err;
        EXPECT_FALSE(has(said.out + said.err, "\007")) << words.front();
    }
    EXPECT_TRUE(has(holdfast({"status", "one"}).out, "status    a?[31mb\n"));
}

TEST_F(SlotCli, AnAnswerThatCannotBeWrittenIsNoSuccess) {
    Child owner = hold("one");
    for (const Words& words : {Words{"slots"}, Words{"slots", "--json"}, Words{"status", "one"}, Words{"ps"},
                               Words{"wait", "one", "--for", "ready", "--json"}, Words{"version"}}) {
        auto spec = home.command({});
        spec.argv = Words{"/bin/sh", "-c", "exec \"$@\" > /dev/full", "sh", program("holdfast")} + words;
        const auto said = run_to_end(spec, Deadline::in(patience));
        ASSERT_TRUE(said) << said.error().message;
        EXPECT_TRUE(said->status.exited_with(73)) << words.front() << to_string(said->status);
        EXPECT_TRUE(has(said->err, "No space left")) << said->err;
    }
}

TEST_F(SlotCli, WhatIsNoLockFileIsNoSlotAndHidesNone) {
    Child owner = hold("one");
    fs::create_symlink("/etc/passwd", slots_directory() + "/link.lock");
    fs::create_directory(slots_directory() + "/folder.lock");
    ASSERT_EQ(::mkfifo((slots_directory() + "/pipe.lock").c_str(), 0600), 0);
    const auto all = holdfast({"slots"});
    EXPECT_TRUE(all.status.exited_with(0)) << all.err;
    EXPECT_EQ(count(all.out, "\n"), 2U) << all.out;
    EXPECT_TRUE(has(all.out, "one   owned")) << all.out;
    for (const char* name : {"link", "folder", "pipe"}) {
        const auto one = holdfast({"status", name});
        EXPECT_TRUE(one.status.exited_with(73)) << name << to_string(one.status) << one.out << one.err;
    }
}

TEST_F(SlotCli, ANameThatLooksLikeAnOptionIsRefused) {
    const auto ran = holdfast({"run", "--slot=-x", "--", "/bin/true"});
    EXPECT_TRUE(ran.status.exited_with(64)) << ran.err;
    EXPECT_TRUE(has(ran.err, "starts with a dash")) << ran.err;
}

// What a shell offers after these words.
class Completion : public SlotCli {
protected:
    std::string offered(const std::string& words) const {
        auto spec = home.command({});
        spec.argv = {
            "/bin/bash", "-c",
            "PATH=$1:$PATH; source <(holdfast completion bash); COMP_WORDS=(holdfast " + words +
                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _holdfast; printf '<%s>' \"${COMPREPLY[@]}\"",
            "bash", bin_dir()};
        const auto out = run_to_end(spec, Deadline::in(patience));
        EXPECT_TRUE(out) << out.error().message;
        return out ? out->out + out->err : "";
    }
};

TEST_F(Completion, OffersTheSlotsThatAreThere) {
    EXPECT_TRUE(holdfast({"run", "--slot", "alpha", "--", "/bin/true"}).status.exited_with(0));
    EXPECT_TRUE(holdfast({"run", "--slot", "beta", "--", "/bin/true"}).status.exited_with(0));
    for (const char* words : {"status ''", "wait ''", "run --slot ''"})
        EXPECT_TRUE(has(offered(words), "<alpha><beta>")) << words << ": " << offered(words);
    EXPECT_FALSE(has(offered("stop ''"), "<alpha>")) << "there is nothing to stop";
    EXPECT_FALSE(has(offered("-p other status ''"), "<alpha>"));
    EXPECT_FALSE(has(offered("status -p other ''"), "<alpha>"));
    for (const char* shell : {"zsh", "fish"})
        EXPECT_GE(count(holdfast({"completion", shell}).out, "_holdfast_names"), 6U) << shell;
}

TEST_F(Completion, OffersHelpersByNameAndById) {
    Child plain = hold("one", {"sleep", "3600"}, {"--name", "my helper"});
    Child logged = hold("two", {"sleep", "3600"}, {"--name", "teller", "--log"});
    const auto ids = registry_ids(home);
    ASSERT_EQ(ids.size(), 2U);
    const std::string stop = offered("stop ''");
    for (const std::string& name : {std::string("one"), std::string("two"), std::string("my\\ helper"),
                                    std::string("teller"), ids[0], ids[1]})
        EXPECT_TRUE(has(stop, "<" + name + ">")) << name << " in " << stop;
    EXPECT_EQ(offered("stop te"), "<teller>");
    EXPECT_EQ(offered("stop --now my"), "<my\\ helper>");
    const std::string logs = offered("logs ''");
    EXPECT_TRUE(has(logs, "<teller>")) << logs;
    EXPECT_FALSE(has(logs, "my")) << "it has no log: " << logs;
    EXPECT_TRUE(has(offered("stop -p other t"), "<>")) << "in another profile there is nobody";
}

} // namespace

} // namespace holdfast::harness
