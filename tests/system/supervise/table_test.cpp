// What every report of leaked helpers asks for, row by row, and each row also after a history: a generation
// that somebody remembers and that is gone, a second kill during the respawn, a helper that died at its start
// five times.
#include "supervise/fixture.hpp"

#include <unistd.h>

namespace holdfast::supervise_test {

namespace {
enum class History { plain, stale_generation, second_kill, died_at_start };
} // namespace

class SupervisorTable : public SupervisorTest, public ::testing::WithParamInterface<History> {
protected:
    void SetUp() override {
        spec_ = healthy();
        spec_.respawn.first = spec_.respawn.initial = 10ms;
        spec_.respawn.max = 50ms;
        if (GetParam() == History::second_kill) // until it is told, so that a kill falls into the start
            spec_ = with_words({"--start-until=" + home.dir().file("told")});
        if (GetParam() == History::died_at_start)
            spec_ = with_words({"--counter=" + home.dir().file("starts"), "--die-first=5"});
        supervisor_.emplace(make());
        const std::string told = home.dir().file("told");
        ASSERT_TRUE(harness::write_file(told, ""));
        take();
        ASSERT_TRUE(first().wait_ready(patient(30s)).has_value());
        starts_ = 1;
        switch (GetParam()) {
        case History::plain:
            break;
        case History::stale_generation:
            ASSERT_EQ(first().replace(1).value_or(0), 2U);
            starts_ = 2;
            break;
        case History::second_kill:
            ASSERT_EQ(::unlink(told.c_str()), 0);
            kill_by_pid(first().status().pid);
            ASSERT_TRUE(harness::eventually(Deadline::in(20s), [&] {
                const auto status = first().status();
                return status.generation == 2 && status.pid != 0 && status.state == HelperState::starting;
            }));
            kill_by_pid(first().status().pid);
            ASSERT_TRUE(harness::write_file(told, ""));
            ASSERT_EQ(first().wait_ready(patient(30s)).value_or(0), 3U);
            starts_ = 3;
            break;
        case History::died_at_start:
            starts_ = 6;
            break;
        }
        ASSERT_EQ(first().status().starts, starts_);
        pid_ = number(first().request("pid"));
        ASSERT_EQ(helpers(), std::vector<pid_t>{pid_});
    }

    void take() {
        auto hold = supervisor_->hold(spec_);
        ASSERT_TRUE(hold.has_value()) << hold.error().message;
        holds_.push_back(std::move(*hold));
    }
    Hold& first() { return holds_.front(); }
    // The process that was there is there, alone, and whoever remembers an older generation joins it.
    void expect_the_same_one() {
        EXPECT_EQ(helpers(), std::vector<pid_t>{pid_});
        EXPECT_EQ(number(first().request("pid")), pid_);
        const Generation now = first().status().generation;
        if (now > 1) {
            EXPECT_EQ(first().replace(now - 1).value_or(0), now);
        }
        EXPECT_EQ(first().status().starts, starts_);
        EXPECT_EQ(helpers(), std::vector<pid_t>{pid_});
    }

    HelperSpec spec_;
    std::optional<Supervisor> supervisor_;
    std::vector<Hold> holds_;
    std::uint64_t starts_ = 0;
    pid_t pid_ = 0;

private:
    HelperSpec with_words(std::vector<std::string> words) const {
        HelperSpec out = spec_;
        out.command = home.animal("rpc_helper", std::move(words));
        return out;
    }
};

TEST_P(SupervisorTable, G5ThreeDroppedHoldersAreOneProcess) {
    for (int i = 0; i < 3; ++i)
        take();
    EXPECT_EQ(first().status().holds, 4U);
    holds_.erase(holds_.begin() + 1, holds_.end()); // dropped, not closed
    EXPECT_EQ(first().status().holds, 1U);
    expect_the_same_one();
}

TEST_P(SupervisorTable, G6AHoldTakenTwiceIsOneProcess) {
    take();
    EXPECT_EQ(number(holds_[1].request("pid")), pid_);
    expect_the_same_one();
}

TEST_P(SupervisorTable, G6AKillIsExactlyOneReplacementAndTheNextRequestWorks) {
    take();
    kill_by_pid(pid_);
    const auto reply = holds_[1].request("pid");
    EXPECT_GT(number(reply), 0) << text_of(reply);
    EXPECT_NE(number(reply), pid_);
    pid_ = number(reply);
    ++starts_;
    expect_the_same_one();
}

TEST_P(SupervisorTable, G5AllReleasedIsNoProcessAndStaysSo) {
    take();
    const Generation last = first().status().generation;
    holds_.clear();
    expect_nothing_left();
    // Nothing revives it: what was due before (a backoff, a health question) is due no more.
    EXPECT_FALSE(harness::eventually(Deadline::exactly(300ms), [&] { return !helpers().empty(); }));
    const auto status = supervisor_->status();
    ASSERT_EQ(status.size(), 1U);
    EXPECT_EQ(status[0].second.state, HelperState::idle);
    EXPECT_EQ(status[0].second.generation, last);
}

INSTANTIATE_TEST_SUITE_P(After, SupervisorTable,
                         ::testing::Values(History::plain, History::stale_generation, History::second_kill,
                                           History::died_at_start),
                         [](const auto& history) {
                             switch (history.param) {
                             case History::plain:
                                 return "Nothing";
                             case History::stale_generation:
                                 return "AStaleGeneration";
                             case History::second_kill:
                                 return "ASecondKill";
                             case History::died_at_start:
                                 return "FiveDeathsAtTheStart";
                             }
                             return "?";
                         });

} // namespace holdfast::supervise_test
