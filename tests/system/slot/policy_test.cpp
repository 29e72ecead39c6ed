// G1, G2: what each policy does when somebody owns the slot, and that no content of any file decides it.
#include "records/record.hpp"
#include "slot/actor.hpp"
#include "sys/proc.hpp"

#include <filesystem>

namespace holdfast::slot_test {
namespace {

class Policy : public SlotTest {};

TEST_F(Policy, RefuseNamesTheOwnerAndLeavesItAlone) {
    Actor owner = actor(), late = actor();
    EXPECT_EQ(owner.ask("acquire refuse"), "owned 1");
    EXPECT_EQ(owner.ask("ready"), "ok");
    std::string answer = late.ask("acquire refuse");
    EXPECT_SAYS(answer, "error held ");
    EXPECT_NE(answer.find("process " + std::to_string(owner.pid()) + " (slot_child refuse), ready"),
              std::string::npos)
        << answer;
    EXPECT_EQ(look().owner_pid, owner.pid());
    EXPECT_EQ(look().epoch, 1u);
}

TEST_F(Policy, RefuseTakesWhatIsFreeAndTheEpochGrows) {
    for (int epoch = 1; epoch <= 5; ++epoch) {
        Actor one = actor();
        EXPECT_EQ(one.ask("acquire refuse"), "owned " + std::to_string(epoch));
        if (epoch % 2)
            one.kill(); // as well as a proper release
        else
            EXPECT_EQ(one.ask("release"), "ok");
        EXPECT_EQ(look().state, SlotState::free);
        EXPECT_FALSE(look().record_is_current);
    }
}

TEST_F(Policy, WaitGetsItWhenTheOwnerReleasesOrDies) {
    for (bool dies : {false, true}) {
        Actor owner = actor(), next = actor();
        ASSERT_SAYS(owner.ask("acquire wait"), "owned");
        next.tell("acquire wait");
        ASSERT_TRUE(next.comes_to_wait());
        if (dies)
            owner.kill();
        else
            EXPECT_EQ(owner.ask("release"), "ok");
        EXPECT_SAYS(next.hear(), "owned");
        EXPECT_EQ(look().owner_pid, next.pid());
    }
}

TEST_F(Policy, WaitEndsWithItsTime) {
    Actor owner = actor(), next = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    EXPECT_SAYS(next.ask("acquire wait wait=80"), "error timed_out");
    EXPECT_SAYS(next.ask("acquire wait wait=0"), "error timed_out");
    EXPECT_EQ(look().owner_pid, owner.pid());
}

TEST_F(Policy, AttachSucceedsAtOnceWithTheOwnersAddressOrBecomesIt) {
    Actor owner = actor(), guest = actor();
    EXPECT_SAYS(owner.ask("acquire attach"), "owned");
    EXPECT_EQ(guest.ask("acquire attach"), "attached " + std::to_string(owner.pid()) + " here");
    owner.kill();
    EXPECT_SAYS(guest.ask("acquire attach"), "owned");
}

// Who is told "held", or attaches, counts on an owner. One that is leaving is none.
TEST_F(Policy, RefuseAndAttachWaitForAnOwnerThatIsLeaving) {
    for (const char* policy : {"acquire refuse", "acquire attach"}) {
        Actor owner = actor(), next = actor();
        ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
        ASSERT_EQ(owner.ask("draining"), "ok");
        next.tell(policy);
        EXPECT_FALSE(next.answers_within(100)) << policy;
        owner.kill();
        EXPECT_SAYS(next.hear(), "owned");
    }
}

TEST_F(Policy, ThatWaitIsBoundedAndEndsWithAnOwnerThatStays) {
    Actor owner = actor(), next = actor(), guest = actor();
    ASSERT_EQ(owner.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(owner.ask("draining"), "ok");
    std::string answer = next.ask("acquire attach wait=100");
    EXPECT_SAYS(answer, "error timed_out ");
    EXPECT_NE(answer.find("draining"), std::string::npos) << answer;
    EXPECT_SAYS(next.ask("acquire refuse wait=0"), "error timed_out ");
    next.tell("acquire refuse");
    guest.tell("acquire attach");
    EXPECT_FALSE(next.answers_within(50));
    EXPECT_FALSE(guest.answers_within(50));
    ASSERT_EQ(owner.ask("ready"), "ok"); // it changed its mind
    EXPECT_SAYS(next.hear(), "error held ");
    EXPECT_EQ(guest.hear(), "attached " + std::to_string(owner.pid()) + " here");
}

TEST_F(Policy, AZombieOwnerOwnsNothing) {
    Actor owner = actor(), next = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    owner.signal(SIGKILL);
    ASSERT_TRUE(owner.child().wait_ended(soon()));
    EXPECT_TRUE(owner.reaches_state('Z'));
    EXPECT_EQ(::kill(owner.pid(), 0), 0); // the classic question still says "alive"
    EXPECT_SAYS(next.ask("acquire refuse"), "owned");
}

TEST_F(Policy, NoContentBlocksAStartOrGetsAStrangerSignalled) {
    Actor bystander = actor();
    EXPECT_EQ(bystander.ask("hear"), "ok");
    auto stranger = sys::PidFd::open(bystander.pid());
    ASSERT_TRUE(stranger);
    base::Record lie{.name = "slot", .epoch = 7, .phase = Phase::ready, .since = 1};
    lie.identity = sys::identify(*stranger).value(); // a perfect identity of somebody who owns nothing
    std::string whole = records::to_json(lie);
    const std::string texts[] = {"",
                                 "{",
                                 whole,
                                 whole.substr(0, whole.size() / 2),
                                 std::string(100'000, '\0'),
                                 "4711\n",
                                 R"({"pid":1,"kind":"hermes-gateway"})",
                                 std::string(2 << 20, 'x'),
                                 "holdfast epoch 18446744073709551615\n",
                                 "holdfast epoch 00000000000000000007\n"};
    for (const std::string& record : texts)
        for (const std::string& lock :
             {std::string(), texts[4], texts[8], texts[9], std::string("holdfast ep")}) {
            ASSERT_TRUE(harness::write_file(directory() + "/slot.json", record));
            ASSERT_TRUE(harness::write_file(directory() + "/slot.lock", lock));
            ASSERT_TRUE(harness::write_file(directory() + "/slot.json.tmp", record));
            for (IfHeld policy : {IfHeld::refuse, IfHeld::replace}) {
                auto got = acquire(slot(), {.if_held = policy});
                ASSERT_TRUE(got) << got.error().message;
                ASSERT_TRUE(got->ownership);
                EXPECT_TRUE(look().record_is_current);
            }
        }
    EXPECT_EQ(bystander.ask("heard"), "heard 0 0");
}

TEST_F(Policy, ABadNameOrDirectoryChangesNothing) {
    std::string before = listing(directory());
    for (const char* name : {"", "../x", ".x", "-x", "a/b", "a b"}) {
        auto got = acquire(slot(name), {});
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().code, Errc::invalid_argument);
    }
    auto nowhere = acquire({.directory = directory() + "/none", .name = "x"}, {});
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, Errc::not_found);
    EXPECT_EQ(listing(directory()), before);
}

// Kernels without pidfs: the same answers, from boot id, namespace, number and start time.
TEST_F(Policy, WithoutPidfsTheRecordHasNoInodeAndAllElseIsTheSame) {
    env_ = {"HOLDFAST_WITHOUT_PIDFS=1"};
    Actor owner = actor(), next = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    auto record = records::record_from_json(harness::read_file(directory() + "/slot.json").value());
    ASSERT_TRUE(record);
    EXPECT_EQ(record->identity.pidfd_inode, 0u);
    EXPECT_EQ(record->identity.pid, owner.pid());
    EXPECT_GT(record->identity.start_ticks, 0u);
    EXPECT_EQ(owner.ask("ready"), "ok");
    EXPECT_EQ(next.ask("acquire replace"), "owned 2");
    EXPECT_TRUE(owner.child().wait(soon())->killed_by(SIGTERM));
}

} // namespace
} // namespace holdfast::slot_test
