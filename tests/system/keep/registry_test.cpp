// ps, stop, logs, events: what is kept, and how it is ended from elsewhere.
#include "base/utf8.hpp"
#include "keep/fixture.hpp"

#include <filesystem>
#include <regex>

namespace holdfast::harness {

namespace {

class Registry : public Keep {
protected:
    // `holdfast run` of an animal, ready.
    Child guarded(const Words& options, const std::string& animal, const Words& words = {}) {
        const std::string report = home.dir().file("report." + std::to_string(started++));
        auto spec = home.command(Words{"run"} + options + Words{"--"} + home.animal(animal, words));
        spec.env.push_back("ZOO_REPORT=" + report);
        spec.in = Stdio::pipe;
        spec.err = Stdio::pipe;
        auto child = Child::spawn(spec);
        EXPECT_TRUE(child) << child.error().message;
        EXPECT_TRUE(wait_for_file(report, Deadline::in(patience)));
        return child ? std::move(*child) : Child{};
    }
    // A front has let go of everything a moment before its own exit; nothing else may be there any more.
    void expect_only_the_front_left(const Child& front) const {
        auto left = scene.alive_now();
        std::erase_if(left, [&](const ProcessInfo& process) { return process.pid == front.pid(); });
        EXPECT_TRUE(left.empty()) << to_string(left);
    }
    int started = 0;
};

TEST_F(Registry, PsShowsWhatRunsAndNothingElse) {
    EXPECT_EQ(ps(), "[]\n");
    {
        auto child = guarded({"--name", "shown", "--session", "s1", "--task", "t1", "--contain", "plain"},
                             "double_forker");
        const std::string json = ps();
        for (const char* part :
             {"\"name\":\"shown\"", "\"session\":\"s1\"", "\"task\":\"t1\"", "\"phase\":\"ready\"",
              "\"containment\":\"plain\"", "\"restarts\":0", "\"processes\":2"})
            EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
        EXPECT_NE(json.find("\"front_pid\":" + std::to_string(child.pid())), std::string::npos) << json;
        EXPECT_NE(json.find("\"host_pid\":" + std::to_string(::getpid())), std::string::npos) << json;
        const std::string text = holdfast({"ps"}).out;
        EXPECT_NE(text.find("shown"), std::string::npos) << text;
        EXPECT_EQ(count(holdfast({"ps", "--tree"}).out, "zoo/double_forker"),
                  3U); // the table's row and two processes
        EXPECT_EQ(holdfast({"ps", "--json", "--session", "other"}).out, "[]\n");
        EXPECT_EQ(count(holdfast({"ps", "--json", "--session", "s1"}).out, "\"id\""), 1U);
        ASSERT_TRUE(child.kill()); // the front; its keeper ends the rest
    }
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] { return ps() == "[]\n"; }));
}

// As many fronts of one host as make `ps` ask the host for its children, and each of them inside a helper.
TEST_F(Registry, WhatRunsInsideAHelperCountsInItsTreeToo) {
    constexpr std::size_t inner = 40;
    const std::string start_all = "for i in $(seq " + std::to_string(inner) +
                                  "); do \"$0\" run --name inner -- sleep 600 </dev/zero & done; wait";
    auto spec = home.command({"run", "--name", "outer", "--stop", "now", "--", "/bin/sh", "-c", start_all,
                              home.command({}).argv.front()});
    spec.in = Stdio::pipe; // an end of input would end it
    auto outer = Child::spawn(spec);
    ASSERT_TRUE(outer) << outer.error().message;
    // The shell, and of each inner one the front, the keeper and the command.
    const std::string processes = std::to_string(1 + 3 * inner);
    const auto json_of_outer = [&] {
        const std::string json = ps();
        std::smatch found;
        const std::regex tree(R"("name":"outer".*?"processes":(\d+))");
        return std::regex_search(json, found, tree) ? found[1].str() : json;
    };
    EXPECT_TRUE(eventually(Deadline::in(120s), [&] { return json_of_outer() == processes; }))
        << json_of_outer();
    const auto rows = [&](const std::string& pattern) {
        const std::string table = holdfast({"ps"}).out;
        const std::regex row(pattern);
        return static_cast<std::size_t>(
            std::distance(std::sregex_iterator(table.begin(), table.end(), row), std::sregex_iterator()));
    };
    EXPECT_EQ(rows(" outer [^\n]* ready +0 +" + processes + " "), 1U) << holdfast({"ps"}).out;
    EXPECT_EQ(rows(" inner [^\n]* ready +0 +1 "), inner) << holdfast({"ps"}).out;
    const auto stopped = holdfast({"stop", "outer"}, 120s);
    EXPECT_TRUE(stopped.status.exited_with(0)) << stopped.err;
    EXPECT_TRUE(eventually(Deadline::in(120s), [&] { return ps() == "[]\n"; }));
}

TEST_F(Registry, AReaderWritesNothing) {
    auto child = guarded({"--name", "looked-at"}, "term_ignorer");
    ASSERT_TRUE(child.kill());
    expect_nothing_left();
    // The dead entry is history: readers leave it, the next start clears it.
    const auto before = registry_ids(home);
    EXPECT_EQ(before.size(), 1U);
    (void)holdfast({"ps"});
    (void)holdfast({"events"});
    EXPECT_EQ(registry_ids(home), before);
    (void)holdfast({"run", "--", "/bin/true"});
    EXPECT_TRUE(registry_ids(home).empty());
}

TEST_F(Registry, StopByNameByIdAndByTheBeginningOfAnId) {
    for (const int how : {0, 1, 2}) {
        auto child = guarded({"--name", "target", "--stop", "eof:50ms,term:50ms,kill"}, "term_ignorer");
        const std::string json = ps();
        std::smatch found;
        ASSERT_TRUE(std::regex_search(json, found, std::regex("\"id\":\"([0-9a-f]{12})\""))) << json;
        const std::string id = found[1];
        const auto stopped = holdfast({"stop", how == 0 ? "target" : how == 1 ? id : id.substr(0, 6)});
        EXPECT_TRUE(stopped.status.exited_with(0)) << stopped.err;
        EXPECT_EQ(stopped.out, "stopped target (" + id + ")\n");
        // Answered when it is gone, not when it was asked.
        expect_only_the_front_left(child);
    }
    EXPECT_TRUE(holdfast({"stop", "target"}).status.exited_with(3));
    EXPECT_TRUE(holdfast({"stop"}).status.exited_with(64));
}

TEST_F(Registry, ManyAreStoppedInParallel) {
    std::vector<Child> children;
    for (int i = 0; i < 8; ++i)
        children.push_back(
            guarded({"--session", i < 6 ? "many" : "few", "--stop", "term:1s,kill"}, "term_ignorer"));
    const auto stopped = holdfast({"stop", "--session", "many"});
    EXPECT_TRUE(stopped.status.exited_with(0)) << stopped.err;
    EXPECT_EQ(count(stopped.out, "stopped "), 6U) << stopped.out;
    // By the log and not by the clock: all were asked before the first of them, a second later, had gone.
    const std::string log = events();
    EXPECT_EQ(count(log.substr(0, log.find("\"killed\"")), "\"stopping\""), 6U) << log;
    EXPECT_EQ(count(ps(), "\"id\""), 2U);
    const auto rest = holdfast({"stop", "--all", "--json"});
    EXPECT_EQ(count(rest.out, "\"stopped\":true"), 2U) << rest.out;
    expect_nothing_left();
    EXPECT_EQ(holdfast({"stop", "--all"}).out, "nothing to stop\n");
}

TEST_F(Registry, StopNowDoesNotAskFirst) {
    auto child = guarded({"--name", "deaf", "--stop", "eof:1h,term:1h,kill"}, "signal_teller");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(holdfast({"stop", "--now", "deaf"}).status.exited_with(0));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, test::patient(15s));
    expect_only_the_front_left(child);
    const auto said = child.out().read_to_end(Deadline::in(patience));
    EXPECT_EQ(said.value_or("?"), "") << "not even TERM";
}

// `stop --now` says "at once" and then waits as a contender does, who sends TERM. The kernel hands signals
// over by their numbers, and TERM has the smaller one.
TEST_F(Registry, AtOnceIsHeardBeforeTheTermThatFollowsIt) {
    auto child = guarded({"--name", "deaf", "--stop", "term:1h,kill"}, "signal_teller");
    const Other front(child.pid());
    front.freeze();
    front.queue(SIGRTMIN + 3, 0x686F'6C64); // what `stop --now` sends
    front.signal(SIGTERM);
    front.signal(SIGCONT);
    EXPECT_EQ(child.out().read_to_end(Deadline::in(patience)).value_or("?"), "") << "not even TERM";
    EXPECT_TRUE(front.ended());
    EXPECT_NE(events().find("\"asked_now\""), std::string::npos) << events();
    expect_nothing_left();
}

TEST_F(Registry, AStopReachesAFrontThatIsStopped) {
    auto child = guarded({"--name", "still", "--stop", "eof:50ms,term:50ms,kill"}, "stopped");
    Other front(child.pid());
    front.freeze();
    EXPECT_TRUE(holdfast({"stop", "still"}).status.exited_with(0));
    expect_nothing_left();
}

TEST_F(Registry, EventsTellTheStory) {
    (void)holdfast(Words{"run", "--name", "short", "--"} + home.animal("exiter", {"--code=7"}));
    (void)holdfast(Words{"run", "--name", "shot", "--"} + home.animal("exiter", {"--signal=9"}));
    const std::string json = events();
    EXPECT_TRUE(std::regex_search(
        json, std::regex("\"type\":\"spawned\",\"id\":\"[0-9a-f]{12}\",\"name\":\"short\"")))
        << json;
    EXPECT_TRUE(std::regex_search(json, std::regex("\"type\":\"exited\".*\"name\":\"short\".*\"status\":7")))
        << json;
    EXPECT_TRUE(std::regex_search(json, std::regex("\"type\":\"killed\".*\"name\":\"shot\".*\"status\":137")))
        << json;
    EXPECT_NE(holdfast({"events"}).out.find("status 7"), std::string::npos);
}

TEST_F(Registry, EventsCanBeFollowed) {
    auto spec = home.command({"events", "--follow", "--json"});
    auto follower = Child::spawn(spec);
    ASSERT_TRUE(follower);
    auto child = guarded({"--name", "followed", "--stop", "now"}, "term_ignorer");
    EXPECT_TRUE(follower->out().read_until("followed", Deadline::in(patience)));
    ASSERT_TRUE(child.signal(SIGTERM));
    EXPECT_TRUE(follower->out().read_until("\"killed\"", Deadline::in(patience)));
    ASSERT_TRUE(follower->signal(SIGTERM));
    const auto status = follower->wait(Deadline::in(patience));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(0));
}

TEST_F(Registry, ALogIsACopyOfStderr) {
    const auto ran = holdfast(Words{"run", "--log", "--name", "talker", "--"} +
                              sh("echo to-stdout; echo to-stderr >&2; echo more >&2; exit 2"));
    EXPECT_TRUE(ran.status.exited_with(2));
    EXPECT_EQ(ran.out, "to-stdout\n");
    EXPECT_EQ(ran.err, "to-stderr\nmore\n");
    EXPECT_EQ(holdfast({"logs", "talker"}).out, "to-stderr\nmore\n");
    EXPECT_TRUE(holdfast({"logs", "nobody"}).status.exited_with(3));
    (void)holdfast(Words{"run", "--name", "silent", "--"} + sh("echo x >&2"));
    EXPECT_TRUE(holdfast({"logs", "silent"}).status.exited_with(3));
}

// Logs of the ended make way for new ones: the oldest beyond a hundred. One that is being written stays.
TEST_F(Registry, LogsAreBounded) {
    namespace fs = std::filesystem;
    const fs::path directory = home.path() + "/state/default/logs";
    auto running = guarded({"--name", "writer", "--log"}, "echo_server");
    const auto kept = registry_ids(home);
    ASSERT_EQ(kept.size(), 1U);
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(24 * 365);
    fs::last_write_time(directory / (kept[0] + ".log"), long_ago);
    for (int i = 0; i < 150; ++i) {
        const fs::path log = directory / (std::to_string(100000000000 + i) + ".log");
        ASSERT_TRUE(write_file(log.string(), "text"));
        ASSERT_TRUE(write_file(log.string() + ".1", "text"));
        fs::last_write_time(log, long_ago + std::chrono::hours(1 + i));
        fs::last_write_time(log.string() + ".1", long_ago + std::chrono::hours(1 + i));
    }
    const auto count_logs = [&] {
        return std::distance(fs::directory_iterator(directory), fs::directory_iterator());
    };
    // Who reads removes nothing.
    EXPECT_TRUE(holdfast({"logs", "writer"}).status.exited_with(0));
    EXPECT_EQ(count_logs(), 301);
    EXPECT_TRUE(holdfast({"run", "--log", "--name", "next", "--", "/bin/true"}).status.exited_with(0));
    EXPECT_EQ(count_logs(), 2 * 100 + 2) << "a hundred and the one that runs, when another one came";
    EXPECT_TRUE(fs::exists(directory / (kept[0] + ".log"))) << "it is being written";
    EXPECT_TRUE(fs::exists(directory / "100000000149.log.1"));
    EXPECT_FALSE(fs::exists(directory / "100000000049.log"));
    EXPECT_FALSE(fs::exists(directory / "100000000049.log.1"));
    EXPECT_TRUE(holdfast({"logs", "next"}).status.exited_with(0));
}

TEST_F(Registry, ALogIsBoundedAndAHostThatDoesNotReadBlocksNobody) {
    // 20 MB of stderr into a pipe that nobody reads: the helper still ends, and the log keeps the newest
    // part.
    auto spec = home.command(Words{"run", "--log", "--name", "flood", "--"} +
                             sh("head -c 20000000 /dev/zero | tr '\\0' x >&2; echo the-end >&2; exit 3"));
    spec.err = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    const auto status = child->wait(Deadline::in(60s));
    ASSERT_TRUE(status) << "the helper hangs on a host that does not read";
    EXPECT_TRUE(status->exited_with(3)) << to_string(*status);
    const std::string kept = holdfast({"logs", "flood"}).out;
    EXPECT_TRUE(kept.ends_with("the-end\n"));
    EXPECT_LE(kept.size(), std::size_t{17} << 20);
    EXPECT_GE(kept.size(), std::size_t{4} << 20);
}

TEST_F(Registry, ALogCanBeFollowed) {
    auto spec = home.command(Words{"run", "--log", "--name", "live", "--stop", "now", "--"} +
                             sh("echo first >&2; echo up; read x; echo second >&2; read x"));
    spec.in = Stdio::pipe;
    spec.err = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->out().read_until("up\n", Deadline::in(patience)));
    auto follower = Child::spawn(home.command({"logs", "live", "-f"}));
    ASSERT_TRUE(follower);
    EXPECT_TRUE(follower->out().read_until("first\n", Deadline::in(patience)));
    ASSERT_TRUE(child->write_in("\n"));
    EXPECT_TRUE(follower->out().read_until("second\n", Deadline::in(patience)));
    ASSERT_TRUE(follower->signal(SIGTERM));
    EXPECT_TRUE(follower->wait(Deadline::in(patience)));
}

// Each line once, whatever is written between what is shown and what is followed.
TEST_F(Registry, AFollowedLogRepeatsNothing) {
    auto spec = home.command(Words{"run", "--log", "--name", "many", "--"} +
                             sh("seq 200000 >&2; echo up; seq 200001 400000 >&2"));
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->out().read_until("up\n", Deadline::in(patience)));
    const auto followed = holdfast({"logs", "many", "-f"}, 60s).out;
    std::string expected;
    for (int i = 1; i <= 400'000; ++i)
        expected += std::to_string(i) + "\n";
    EXPECT_TRUE(followed == expected) << followed.size() << " bytes instead of " << expected.size();
}

TEST_F(Registry, AWordMeansAnIdOrANameBeforeItMeansABeginning) {
    auto victim = guarded({"--name", "victim"}, "echo_server");
    const std::string id = registry_ids(home).at(0);
    const std::string word = id.substr(0, 4);
    auto other = guarded({"--name", word, "--log"}, "echo_server");
    EXPECT_TRUE(holdfast({"stop", word}).status.exited_with(0));
    EXPECT_TRUE(other.wait(Deadline::in(patience)));
    EXPECT_EQ(registry_ids(home), std::vector{id}) << "the one whose id only begins like that";
    EXPECT_TRUE(holdfast({"stop", word}).status.exited_with(0)); // and now it is the only one that is meant
    EXPECT_TRUE(registry_ids(home).empty());
}

TEST_F(Registry, OfTwoWithOneNameTheOneWithALogHasTheLog) {
    auto without = guarded({"--name", "twin"}, "echo_server");
    auto with = guarded({"--name", "twin", "--log"}, "echo_server");
    EXPECT_TRUE(holdfast({"logs", "twin"}).status.exited_with(0));
}

// Command lines, names and states are any bytes; JSON is not.
TEST_F(Registry, WhatIsNotUtf8IsValidJsonAllTheSame) {
    auto helper = guarded({"--name", "caf\xe9", "--slot", "odd"}, "echo_server", {"--word=\xff\xfe"});
    for (const Words& words :
         {Words{"ps", "--json"}, Words{"slots", "--json"}, Words{"status", "odd", "--json"},
          Words{"events", "--json"}, Words{"stop", "odd", "--json"}}) {
        const auto said = holdfast(words).out;
        EXPECT_TRUE(base::is_utf8(said)) << words.front();
        EXPECT_FALSE(said.empty());
    }
}

TEST_F(Registry, AnAnswerThatCannotBeWrittenIsAFailure) {
    auto helper = guarded({"--name", "answering"}, "echo_server");
    for (const char* words : {"events", "events --json", "doctor", "run --help", "ps", "stop answering"}) {
        auto spec = home.command({});
        spec.argv =
            Words{"/bin/sh", "-c", "exec \"$0\" " + std::string(words) + " >/dev/full", program("holdfast")};
        const auto ended = run_to_end(spec, Deadline::in(patience));
        ASSERT_TRUE(ended);
        EXPECT_TRUE(ended->status.exited_with(73)) << words << ": " << to_string(ended->status);
    }
}

// A clean-up that takes longer than anybody's default.
TEST_F(Registry, AStopGoesByTheHelpersOwnPlan) {
    const std::string cleaned = home.dir().file("cleaned");
    auto spec = home.command(
        Words{"run", "--name", "careful", "--stop", "eof:1s,term:1h,kill", "--"} +
        sh("trap 'sleep 6; echo >\"$1\"; exit 7' TERM; echo up; while :; do sleep 0.05; done", {cleaned}));
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->out().read_until("up\n", Deadline::in(patience)));
    EXPECT_TRUE(holdfast({"stop", "careful"}, 60s).status.exited_with(0));
    EXPECT_TRUE(std::filesystem::exists(cleaned)) << "it was killed while it cleaned up";
    const auto status = child->wait(Deadline::in(patience));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(7)) << to_string(*status);
    expect_nothing_left();
}

TEST_F(Registry, AShorterGraceHurriesTheFrontAndDoesNotKillIt) {
    auto child = guarded({"--name", "slow", "--stop", "term:1h,kill"}, "term_ignorer");
    EXPECT_TRUE(holdfast({"stop", "--grace", "100ms", "slow"}).status.exited_with(0));
    const auto status = child.wait(Deadline::in(patience));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(128 + SIGKILL))
        << "the helper's, not the front's own: " << to_string(*status);
    EXPECT_EQ(count(events(), "did not answer"), 0U) << events();
    expect_nothing_left();
}

TEST_F(Registry, AnEmptySessionMeansNobody) {
    auto child = guarded({"--name", "free"}, "term_ignorer");
    for (const Words& words :
         {Words{"stop", "--session", ""}, Words{"ps", "--session", ""},
          Words{"run", "--session", "", "--", "/bin/true"}, Words{"run", "--name", "", "--", "/bin/true"}})
        EXPECT_TRUE(holdfast(words).status.exited_with(64)) << words[0];
    EXPECT_TRUE(child.alive());
    EXPECT_NE(ps().find("\"name\":\"free\""), std::string::npos);
}

TEST_F(Registry, ASlotsHelperIsStoppedOnceAndBothNamesMeanIt) {
    for (const char* word : {"the-slot", "the-name"}) {
        auto child =
            guarded({"--slot", "the-slot", "--name", "the-name", "--stop", "term:50ms,kill"}, "term_ignorer");
        const auto stopped = holdfast({"stop", word});
        EXPECT_TRUE(stopped.status.exited_with(0)) << stopped.err;
        EXPECT_EQ(count(stopped.out, "stopped "), 1U) << stopped.out;
        EXPECT_TRUE(holdfast({"status", "the-slot"}).status.exited_with(3)) << "answered when it is gone";
    }
    // One word for both.
    auto child = guarded({"--slot", "same", "--name", "same", "--stop", "term:50ms,kill"}, "term_ignorer");
    EXPECT_EQ(count(holdfast({"stop", "same"}).out, "stopped "), 1U);
}

// A command line is any bytes; what is said as JSON is UTF-8 all the same.
TEST_F(Registry, PsAsJsonIsUtf8WhateverTheArguments) {
    auto child = guarded({"--name", "odd"}, "term_ignorer", {"caf\xe9"});
    for (const Words& more : {Words{}, Words{"--tree"}}) {
        const std::string json = holdfast(Words{"ps", "--json"} + more).out;
        EXPECT_NE(json.find("caf\xef\xbf\xbd\""), std::string::npos) << json;
        EXPECT_EQ(json.find('\xe9'), std::string::npos) << json;
    }
    ASSERT_TRUE(child.kill());
    expect_nothing_left();
}

TEST_F(Registry, TheEndIsLoggedWhicheverGuardIsKilled) {
    for (const bool keeper : {false, true}) {
        const std::string name = keeper ? "without-keeper" : "without-front";
        auto child = guarded({"--name", name, "--stop", "term:50ms,kill"}, "term_ignorer");
        const Other guard = keeper ? keeper_of(child.pid()) : Other(child.pid());
        guard.signal(SIGKILL);
        expect_nothing_left();
        EXPECT_TRUE(eventually(Deadline::in(patience), [&] {
            const std::string log = events();
            return std::regex_search(log, std::regex("\"stopping\".*\"name\":\"" + name + "\".*_gone\"")) &&
                   std::regex_search(log,
                                     std::regex("\"killed\".*\"name\":\"" + name + "\".*\"status\":137"));
        })) << events();
        EXPECT_EQ(count(events(), "\"name\":\"" + name + "\""), 3U) << "spawned, stopping, killed\n"
                                                                    << events();
    }
}

TEST_F(Registry, WhoHasLostBothGuardsIsShownAndStopped) {
    scene.start(
        {.holdfast = {"--name", "alone", "--contain", "plain"}, .command = home.animal("double_forker")});
    ASSERT_FALSE(HasFatalFailure());
    scene.kill_both_guards();
    const std::string json = holdfast({"ps", "--json", "--tree"}).out;
    for (const char* part : {"\"state\":\"abandoned\"", "\"holders\":0", "\"processes\":2"})
        EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
    EXPECT_EQ(json.find("\"memory_bytes\":0,"), std::string::npos) << json;
    EXPECT_TRUE(holdfast({"stop", "alone"}).status.exited_with(0));
    expect_nothing_left();
    EXPECT_TRUE(std::regex_search(events(), std::regex("\"reaped\".*\"name\":\"alone\""))) << events();
    EXPECT_TRUE(registry_ids(home).empty());
}

TEST_F(Registry, ATreeIsShownAsJsonToo) {
    auto child = guarded({"--name", "shown"}, "double_forker");
    const std::string json = holdfast({"ps", "--json", "--tree"}).out;
    EXPECT_NE(json.find("\"tree\":[{\"pid\":"), std::string::npos) << json;
    EXPECT_EQ(count(json, "\"depth\":1"), 2U) << json;
    EXPECT_EQ(ps().find("\"tree\""), std::string::npos);
}

TEST_F(Registry, AllOfStderrReachesTheHostBesideTheLog) {
    auto spec = home.command(Words{"run", "--log", "--name", "talker", "--"} + sh("seq 300000 >&2"));
    const auto ran = run_to_end(spec, Deadline::in(60s));
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(count(ran->err, "\n"), 300000U);
    EXPECT_TRUE(ran->err.ends_with("\n300000\n"));
}

TEST_F(Registry, WhatAHostDoesNotReadIsSaidToBeLeftOut) {
    auto spec = home.command(Words{"run", "--log", "--name", "flood", "--"} +
                             sh("seq 100000 >&2; echo up; read x; echo after >&2"));
    spec.in = Stdio::pipe;
    spec.err = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->out().read_until("up\n", Deadline::in(patience))) << "the helper is held up for ever";
    const auto seen = child->err().read_until("bytes of stderr were left out here", Deadline::in(patience));
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_TRUE(seen->starts_with("1\n2\n3\n"));
    EXPECT_TRUE(child->err().read_until("see: holdfast logs ", Deadline::in(patience)));
    ASSERT_TRUE(child->write_in("\n"));
    EXPECT_TRUE(child->err().read_until("after\n", Deadline::in(patience)));
    EXPECT_TRUE(holdfast({"logs", "flood"}).out.find("\n100000\nafter\n") != std::string::npos);
}

// More than the host's pipe and the buffer before it hold, and a helper that has ended before anybody waited.
TEST_F(Registry, AllOfStderrIsInTheLogWhenTheHostReadsNothing) {
    auto spec = home.command(Words{"run", "--log", "--name", "quick", "--"} + sh("seq 30000 >&2"));
    spec.err = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->wait(Deadline::in(patience)));
    const std::string kept = holdfast({"logs", "quick"}).out;
    EXPECT_EQ(count(kept, "\n"), 30000U);
    EXPECT_TRUE(kept.ends_with("\n30000\n"));
}

TEST_F(Registry, FollowingALogEndsWithTheHelper) {
    auto spec = home.command(Words{"run", "--log", "--name", "live", "--"} +
                             sh("echo first >&2; echo up; read x; echo last >&2"));
    spec.in = Stdio::pipe;
    spec.err = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->out().read_until("up\n", Deadline::in(patience)));
    auto follower = Child::spawn(home.command({"logs", "live", "-f"}));
    ASSERT_TRUE(follower);
    EXPECT_TRUE(follower->out().read_until("first\n", Deadline::in(patience)));
    ASSERT_TRUE(child->write_in("\n"));
    EXPECT_EQ(follower->out().read_to_end(Deadline::in(patience)).value_or("?"), "last\n");
    EXPECT_TRUE(follower->wait(Deadline::in(patience)));
    ASSERT_TRUE(child->wait(Deadline::in(patience)));
    EXPECT_EQ(holdfast({"logs", "live", "-f"}).out, "first\nlast\n");
}

} // namespace

} // namespace holdfast::harness
