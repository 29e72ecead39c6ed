// G2 no human, G3 right target: a crash at every system call of acquire, ready, release and takeover
// (starter, owner and contender in turn). After each, a plain start succeeds by itself within a bound, and no
// stranger was signalled.
#include "records/record.hpp"
#include "slot/actor.hpp"
#include "stepper/stepper.hpp"
#include "sys/proc.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <set>
#include <thread>

namespace holdfast::slot_test {
namespace {

using stepper::Outcome;
using stepper::When;

class Crash : public SlotTest {
protected:
    Crash()
        : bystander_(actor("elsewhere")) {
        EXPECT_EQ(bystander_.ask("hear"), "ok");
        // What is left lying around names the bystander, with everything that makes up an identity.
        auto process = sys::PidFd::open(bystander_.pid());
        lie_ = {.name = "slot", .epoch = 1, .phase = Phase::ready, .since = 1};
        lie_.identity = sys::identify(*process).value();
    }
    ~Crash() override { EXPECT_EQ(bystander_.ask("heard"), "heard 0 0"); }

    stepper::Spec step(const std::string& policy, const std::string& gate = "") {
        stepper::Spec spec;
        spec.program.argv = {harness::program("slot_step"), directory(), "slot", policy};
        if (!gate.empty())
            spec.program.argv.push_back(gate);
        spec.program.env = {mark_.env()};
        return spec;
    }
    void leave_record() {
        ASSERT_TRUE(harness::write_file(directory() + "/slot.json", records::to_json(lie_)));
    }

    // A plain start, by whoever comes next: it succeeds within a bound, and what it says is what is seen.
    void expect_next_start(const std::string& after, IfHeld policy = IfHeld::refuse) {
        auto began = std::chrono::steady_clock::now();
        auto got = acquire(slot(), {.if_held = policy, .grace = Millis{20}, .stall = Millis{20}});
        ASSERT_TRUE(got) << after << ": " << got.error().message;
        ASSERT_TRUE(got->ownership) << after;
        EXPECT_LT(std::chrono::steady_clock::now() - began, test::patient(std::chrono::seconds(5))) << after;
        EXPECT_TRUE(got->ownership->ready()) << after;
        SlotInfo info = look();
        EXPECT_EQ(info.owner_pid, ::getpid()) << after;
        EXPECT_TRUE(info.record_is_current) << after;
        got->ownership->release();
        EXPECT_EQ(look().state, SlotState::free) << after;
        // Only the files of the slot: what a crash leaves cannot pile up.
        for (const auto& file : std::filesystem::directory_iterator(directory()))
            EXPECT_TRUE((std::set<std::string>{"slot.lock", "slot.json", "slot.json.tmp", "gate"})
                            .contains(file.path().filename().string()))
                << file.path();
    }
    static std::string at(std::size_t k, const Outcome& outcome) {
        return "killed at call " + std::to_string(k) + " (" + outcome.name + ")";
    }
    static void expect_swept(const Result<std::size_t>& points, std::size_t at_least) {
        ASSERT_TRUE(points) << points.error().message;
        EXPECT_GE(*points, at_least); // a sweep that reached a few points only would look green too
        std::cout << *points << " points\n";
    }

    Actor bystander_;
    base::Record lie_;
};

TEST_F(Crash, OfAStarterOnAnEmptySlot) {
    auto points = stepper::sweep(
        When::entry, 500,
        [&](std::size_t) {
            std::filesystem::remove(directory() + "/slot.lock");
            std::filesystem::remove(directory() + "/slot.json");
            return step("refuse");
        },
        [&](std::size_t k, const Outcome& outcome) { expect_next_start(at(k, outcome)); });
    expect_swept(points, 40);
}

TEST_F(Crash, OfAStarterOnASlotWithAnOldAndATornRecord) {
    std::size_t round = 0;
    auto points = stepper::sweep(
        When::exit, 500, // the other side of each call
        [&](std::size_t) {
            leave_record();
            if (++round % 2) {
                EXPECT_TRUE(harness::write_file(directory() + "/slot.json", "{\"schema\":1,\"na"));
            }
            return step("replace");
        },
        [&](std::size_t k, const Outcome& outcome) { expect_next_start(at(k, outcome), IfHeld::replace); });
    expect_swept(points, 40);
}

TEST_F(Crash, OfAContenderThatReplacesALivingOwner) {
    std::unique_ptr<Actor> owner;
    auto points = stepper::sweep(
        When::entry, 800,
        [&](std::size_t) {
            // A slot of its own for each, since a sixth takeover within a minute would be refused.
            owner.reset();
            std::filesystem::remove(directory() + "/slot.lock");
            std::filesystem::remove(directory() + "/slot.json");
            owner = std::make_unique<Actor>(actor());
            EXPECT_SAYS(owner->ask("acquire refuse"), "owned");
            EXPECT_EQ(owner->ask("ignore-term"), "ok"); // so that the way leads over TERM, grace and KILL
            EXPECT_EQ(owner->ask("ready"), "ok");
            return step("replace");
        },
        [&](std::size_t k, const Outcome& outcome) { expect_next_start(at(k, outcome), IfHeld::replace); });
    expect_swept(points, 60);
}

TEST_F(Crash, OfAWaiterLeavesTheOwnerAlone) {
    Actor owner = actor();
    ASSERT_EQ(owner.ask("hear"), "ok");
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    ASSERT_EQ(owner.ask("ready"), "ok");
    auto points = stepper::sweep(
        When::entry, 500, [&](std::size_t) { return step("wait"); },
        [&](std::size_t k, const Outcome& outcome) {
            EXPECT_EQ(look().owner_pid, owner.pid()) << at(k, outcome);
        });
    expect_swept(points, 30);
    EXPECT_EQ(owner.ask("heard"), "heard 0 0");
    EXPECT_EQ(owner.ask("still-mine"), "ok");
}

// The owner dies anywhere between its first call and its last, while another waits for it.
TEST_F(Crash, OfAnOwnerHandsOverToWhoWaits) {
    std::string gate = directory() + "/gate";
    ::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
    std::unique_ptr<Actor> waiter;
    std::atomic<bool> over = false, waits = false;
    std::jthread usher; // when the owner owns, sends the waiter after it and opens the gate
    auto points = stepper::sweep(
        When::entry, 500,
        [&](std::size_t) {
            waiter = std::make_unique<Actor>(actor());
            over = waits = false;
            usher = std::jthread([&] {
                while (!over && look().state != SlotState::owned)
                    std::this_thread::yield();
                if (over)
                    return;
                waits = true;
                waiter->tell("acquire wait");
                while (!over && sys::children_of(waiter->pid()).empty()) // its lock waiter
                    std::this_thread::yield();
                for (int fd = -1; !over && fd < 0;) {
                    fd = ::open(gate.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
                    if (fd >= 0) {
                        // The owner may be killed between these lines, which is what this is about.
                        EXPECT_TRUE(::write(fd, "g", 1) == 1 || errno == EPIPE);
                        ::close(fd);
                    }
                }
            });
            return step("refuse", gate);
        },
        [&](std::size_t k, const Outcome& outcome) {
            over = true;
            usher.join();
            if (!waits)
                waiter->tell("acquire wait");
            EXPECT_SAYS(waiter->hear(10'000), "owned") << at(k, outcome);
            waiter->kill();
            expect_next_start(at(k, outcome));
        });
    over = true;
    if (usher.joinable())
        usher.join();
    waiter.reset();
    expect_swept(points, 40);
}

} // namespace
} // namespace holdfast::slot_test
