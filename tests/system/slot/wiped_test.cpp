// The directory is wiped under an owner: it notices, and from then on touches nothing of its successor's.
#include "records/record.hpp"
#include "slot/actor.hpp"

#include <filesystem>

namespace holdfast::slot_test {
namespace {

class Wiped : public SlotTest {
protected:
    [[nodiscard]] std::string lock() const { return directory() + "/slot.lock"; }
    [[nodiscard]] base::Record record() const {
        return records::record_from_json(harness::read_file(directory() + "/slot.json").value()).value();
    }
};

TEST_F(Wiped, TheOwnerNoticesAndLoses) {
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    EXPECT_EQ(owner.ask("watch 0"), "quiet");
    EXPECT_EQ(owner.ask("still-mine"), "ok");
    owner.tell("watch 10000");
    std::filesystem::remove(lock());
    EXPECT_EQ(owner.hear(), "event");
    EXPECT_SAYS(owner.ask("still-mine"), "error lost ");
}

TEST_F(Wiped, AMovedOrReplacedFileIsLostToo) {
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    EXPECT_EQ(owner.ask("watch 0"), "quiet");
    std::filesystem::rename(lock(), lock() + ".away");
    EXPECT_EQ(owner.ask("watch 10000"), "event");
    EXPECT_SAYS(owner.ask("still-mine"), "error lost ");
    ASSERT_TRUE(harness::write_file(lock(), ""));
    EXPECT_SAYS(owner.ask("still-mine"), "error lost ");
}

TEST_F(Wiped, AReaderDoesNotWakeTheOwner) {
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    EXPECT_EQ(owner.ask("watch 0"), "quiet");
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(look().state, SlotState::owned);
    EXPECT_EQ(owner.ask("watch 50"), "quiet");
}

TEST_F(Wiped, TheOldOwnerWritesNothingOverItsSuccessor) {
    Actor old = actor(), young = actor();
    ASSERT_EQ(old.ask("acquire refuse"), "owned 1");
    ASSERT_EQ(old.ask("ready"), "ok");
    std::filesystem::remove(lock());
    std::filesystem::remove(directory() + "/slot.json");
    ASSERT_EQ(young.ask("acquire refuse"), "owned 1"); // the epoch begins anew with the file
    // The old owner does as it is told when it has lost: it says draining and leaves.
    EXPECT_SAYS(old.ask("draining"), "error lost ");
    EXPECT_SAYS(old.ask("progress 9"), "error lost ");
    EXPECT_EQ(record().identity.pid, young.pid());
    EXPECT_EQ(record().phase, Phase::starting);
    EXPECT_EQ(old.ask("release"), "ok");
    EXPECT_EQ(look().owner_pid, young.pid());
}

TEST_F(Wiped, AStarterThatOpenedTheOldFileGoesToTheNewOne) {
    Actor old = actor(), late = actor(), young = actor();
    ASSERT_EQ(old.ask("acquire refuse"), "owned 1");
    late.tell("acquire wait"); // waits at the old file
    ASSERT_TRUE(late.comes_to_wait());
    std::filesystem::remove(lock());
    ASSERT_SAYS(young.ask("acquire refuse"), "owned"); // of the new file
    old.kill();
    EXPECT_FALSE(late.answers_within(200)); // the old file came free, and means nothing
    young.kill();
    EXPECT_SAYS(late.hear(), "owned");
}

TEST_F(Wiped, TheWholeDirectoryGone) {
    std::string home = directory() + "/inner";
    std::filesystem::create_directory(home);
    std::filesystem::permissions(home, std::filesystem::perms::owner_all);
    auto got = acquire({home, "slot"}, {});
    ASSERT_TRUE(got && got->ownership);
    int watch = got->ownership->watch_fd();
    EXPECT_GE(watch, 0);
    std::filesystem::remove_all(home);
    auto mine = got->ownership->still_mine();
    ASSERT_FALSE(mine);
    EXPECT_EQ(mine.error().code, Errc::lost);
    EXPECT_EQ(got->ownership->ready().error().code, Errc::lost);
    EXPECT_FALSE(std::filesystem::exists(home));
}

} // namespace
} // namespace holdfast::slot_test
