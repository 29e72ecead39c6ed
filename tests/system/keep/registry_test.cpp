// ps, stop, logs, events: what is kept, and how it is ended from elsewhere.
#include "keep/fixture.hpp"

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
    const auto begin = std::chrono::steady_clock::now();
    const auto stopped = holdfast({"stop", "--session", "many"});
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(stopped.status.exited_with(0)) << stopped.err;
    EXPECT_EQ(count(stopped.out, "stopped "), 6U) << stopped.out;
    EXPECT_GE(took, 1s);
    EXPECT_LT(took, 5s) << "one after the other it would be six seconds";
    EXPECT_EQ(count(ps(), "\"id\""), 2U);
    const auto rest = holdfast({"stop", "--all", "--json"});
    EXPECT_EQ(count(rest.out, "\"stopped\":true"), 2U) << rest.out;
    expect_nothing_left();
    EXPECT_EQ(holdfast({"stop", "--all"}).out, "nothing to stop\n");
}

TEST_F(Registry, StopNowDoesNotAskFirst) {
    auto child = guarded({"--name", "deaf", "--stop", "eof:20s,term:20s,kill"}, "signal_teller");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(holdfast({"stop", "--now", "deaf"}).status.exited_with(0));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
    expect_only_the_front_left(child);
    const auto said = child.out().read_to_end(Deadline::in(patience));
    EXPECT_EQ(said.value_or("?"), "") << "not even TERM";
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

} // namespace

} // namespace holdfast::harness
