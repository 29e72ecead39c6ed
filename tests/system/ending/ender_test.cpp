// The one ender, driven by a loop of its own and by somebody else's.
#include "ending/fixture.hpp"

#include <poll.h>

#include <cstdlib>
#include <functional>

namespace holdfast::ending_test {
namespace {

using core::StopReason;
using ending::Ender;
using ending::Fate;
using ending::Found;
using ending::Left;

// Shows these processes in turn: all of the first group, as long as one of it lives, then the next.
class InTurn : public ending::Finder {
public:
    explicit InTurn(std::vector<sys::PidFd> groups)
        : groups_(std::move(groups)) {}
    void find(const Meet& meet) override {
        ++walks;
        for (const sys::PidFd& one : groups_)
            if (!one.ended()) {
                meet({.process = one.duplicate().value()});
                return;
            }
    }
    int walks = 0;

private:
    std::vector<sys::PidFd> groups_;
};

// As a caller with a loop of its own does: waits for what the ender names, and ticks.
void drive(Ender& ender, const std::function<bool()>& done, Deadline end = Deadline::in(20s)) {
    while (!done() && !end.passed()) {
        pollfd one{.fd = ender.fd(), .events = POLLIN, .revents = 0};
        ::poll(&one, 1, ender.next().earlier(sys::Deadline::in(100ms)).poll_timeout());
        ender.tick();
    }
    EXPECT_TRUE(done());
}

Fate only_fate(const ending::Report& report) {
    EXPECT_EQ(report.members.size(), 1U);
    return report.members.empty() ? Fate::alive : report.members.front().fate;
}

class EnderTest : public EndingTest {};

TEST_F(EnderTest, WhoIsStoppedEndsUponTermWithinItsGrace) {
    Animal animal = start("stopped");
    Ender ender({.stages = ending::ask_then_kill(never)});
    ender.add(held(animal.child), 7);
    const ending::Report report = ender.finish();
    EXPECT_EQ(only_fate(report), Fate::ended);
    EXPECT_EQ(report.members.at(0).of, 7U);
    EXPECT_TRUE(report.survivors.empty());
    EXPECT_FALSE(animal.child.alive());
}

TEST_F(EnderTest, WhoDoesNotListenIsKilledWhenItsGraceIsOver) {
    Animal animal = start("term_ignorer");
    Ender ender({.stages = ending::ask_then_kill(50ms)});
    ender.add(held(animal.child));
    EXPECT_EQ(only_fate(ender.finish()), Fate::killed);
    EXPECT_FALSE(animal.child.alive());
}

TEST_F(EnderTest, TheLargestGraceDoesNotWrapAroundIntoThePast) {
    Animal animal = start("term_ignorer");
    Ender ender({.stages = ending::ask_then_kill(base::Millis::max())});
    ender.add(held(animal.child));
    ender.begin(StopReason::asked);
    for (int i = 0; i < 100; ++i)
        ender.tick();
    EXPECT_FALSE(ender.killing());
    EXPECT_TRUE(animal.child.alive());
    ender.begin(StopReason::asked_now);
    EXPECT_EQ(only_fate(ender.finish()), Fate::killed);
}

// A tick that waited would not come back before the grace of an hour is over.
TEST_F(EnderTest, ATickNeverWaitsAndALaterReasonHurries) {
    Animal animal = start("term_ignorer");
    Ender ender(ending::unmarked_trees(never, ending::default_patience));
    ender.add(held(animal.child));
    const std::int64_t before = sys::boottime_ms();
    ender.begin(StopReason::asked);
    for (int i = 0; i < 100; ++i)
        ender.tick();
    EXPECT_FALSE(ender.over());
    EXPECT_FALSE(ender.killing());
    ASSERT_TRUE(ender.next().moment().has_value());
    EXPECT_GE(*ender.next().moment(), before + never.count());
    EXPECT_TRUE(animal.child.alive());
    ender.begin(StopReason::asked_now);
    drive(ender, [&] { return ender.over(); });
    EXPECT_EQ(ender.reason(), StopReason::asked);
    EXPECT_FALSE(animal.child.alive());
}

// A second TERM makes some programs give up their clean-up. The first has been heard when the process is
// found again, so that a second would not merge with it.
TEST_F(EnderTest, EachIsAskedOnceHoweverOftenItIsFound) {
    Animal animal = start("signal_teller");
    class Twice : public ending::Finder {
    public:
        explicit Twice(Child& child)
            : child_(child) {}
        void find(const Meet& meet) override {
            meet({.process = held(child_)});
            heard = {next(), next()};
            meet({.process = held(child_)});
            ASSERT_TRUE(held(child_).signal(SIGPWR).has_value());
            heard.push_back(next());
        }
        std::vector<int> heard;

    private:
        int next() {
            auto line = child_.out().read_line(Deadline::in(20s));
            return line ? std::atoi(line->c_str() + std::string_view("signal ").size()) : 0;
        }
        Child& child_;
    } finder(animal.child);
    Ender ender({.stages = ending::ask_then_kill(never)});
    ender.find_by(finder);
    ender.begin(StopReason::asked);
    EXPECT_EQ(finder.heard, (std::vector<int>{SIGTERM, SIGCONT, SIGPWR}));
}

// The launcher ends upon TERM, and what is below it belongs to nobody then. It was held before that.
TEST_F(EnderTest, AWholeTreeIsHeldBeforeTheFirstSignal) {
    Animal animal = start("launcher");
    ASSERT_EQ(animal.tree.size(), 2U);
    Ender ender(ending::unmarked_trees(never, ending::default_patience));
    ender.add(held(animal.child));
    EXPECT_EQ(ender.finish().members.size(), 2U);
    EXPECT_TRUE(animal.all_gone());
}

TEST_F(EnderTest, WithoutItsTreeTheProcessAloneIsEnded) {
    Animal animal = start("launcher");
    Ender ender({.stages = ending::ask_then_kill(never), .trees = false});
    ender.add(held(animal.child));
    EXPECT_EQ(ender.finish().members.size(), 1U);
    EXPECT_FALSE(animal.child.alive());
    EXPECT_FALSE(animal.tree.back().ended()) << "the control";
    (void)animal.tree.back().signal(SIGKILL);
}

// Members fork and die all the time, and lose their parents: what is stopped does not.
TEST_F(EnderTest, AStormIsFrozenAndThenKilledAsAWhole) {
    for (int round = 0; round < 3; ++round) {
        Child shell = [&] {
            harness::SpawnSpec spec;
            spec.argv = {"/bin/sh", "-c",
                         "trap '' TERM; for i in 1 2 3; do (while :; do /bin/true; done) & done; wait"};
            spec.env = {home.mark().env()};
            return Child::spawn(spec).value();
        }();
        Ender ender(ending::unmarked_trees(20ms, ending::default_patience));
        ender.add(held(shell));
        EXPECT_TRUE(ender.finish().survivors.empty());
        EXPECT_FALSE(shell.alive());
        EXPECT_TRUE(home.mark().survivors(Deadline::in(10s)).empty());
    }
}

// A process that is started during the grace has the rest of it, or none: the plan says so.
TEST_F(EnderTest, WhoComesToLightLaterSharesTheGraceOrDoesNot) {
    for (const bool share : {true, false}) {
        Animal first = start("signal_teller");
        Animal second = start("term_ignorer");
        std::vector<sys::PidFd> turns;
        turns.push_back(held(first.child));
        turns.push_back(held(second.child));
        InTurn finder(std::move(turns));
        Ender ender({.stages = ending::ask_then_kill(never), .share_grace = share});
        ender.find_by(finder);
        ender.begin(StopReason::asked);
        ASSERT_TRUE(held(first.child).signal(SIGKILL).has_value());
        ASSERT_TRUE(first.child.wait_ended(Deadline::in(20s)).has_value());
        if (share) {
            for (int i = 0; i < 10; ++i)
                ender.tick();
            EXPECT_FALSE(ender.killing());
            EXPECT_EQ(finder.walks, 1);
            EXPECT_TRUE(second.child.alive());
        } else {
            drive(ender, [&] { return ender.over(); });
            EXPECT_FALSE(second.child.alive());
        }
    }
}

TEST_F(EnderTest, WhoIsSparedIsLeftAloneAndSoIsThisProcess) {
    Animal animal = start("launcher");
    Ender ender(ending::unmarked_trees(never, ending::default_patience));
    const pid_t server = animal.tree.back().pid();
    ender.spare([&](std::size_t of, pid_t pid) { return of == 3 && pid == server; });
    ender.add(held(animal.child), 3);
    ender.add(sys::PidFd::open(::getpid()).value(), 3);
    EXPECT_EQ(ender.finish().members.size(), 1U);
    EXPECT_FALSE(animal.tree.back().ended());
    (void)animal.tree.back().signal(SIGKILL);
}

// Somebody is there whom nobody can show. The search is bounded, and its end is no success.
TEST_F(EnderTest, WhoCannotBeFoundIsSearchedForAndThenReported) {
    class Hidden : public ending::Finder {
    public:
        void find(const Meet&) override { ++walks; }
        Left left() override { return Left::hidden; }
        int walks = 0;
    } finder;
    Ender ender({.stages = ending::ask_then_kill(never), .search = 50ms});
    ender.find_by(finder);
    EXPECT_TRUE(ender.finish().unseen);
    EXPECT_TRUE(ender.given_up());
    EXPECT_GT(finder.walks, 2);
}

// A walk may miss one who is in the middle of something.
TEST_F(EnderTest, NobodyIsThereOnlyWhenSeveralWalksSaySo) {
    class Now : public ending::Finder {
    public:
        void find(const Meet&) override { ++walks; }
        Left left() override { return walks == 2 ? Left::unclear : Left::nobody; }
        [[nodiscard]] int walks_to_be_sure() const override { return 3; }
        int walks = 0;
    } finder;
    Ender ender({.stages = ending::ask_then_kill(never)});
    ender.find_by(finder);
    EXPECT_FALSE(ender.finish().unseen);
    EXPECT_FALSE(ender.given_up());
    EXPECT_EQ(finder.walks, 5) << "one that was sure, one that was not, and three";
}

} // namespace
} // namespace holdfast::ending_test
