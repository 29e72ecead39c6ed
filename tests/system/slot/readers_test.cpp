// G11 truth: a reader never writes, locks or removes anything. The kernel itself is asked: a filter ends the
// reader at the first call that could.
#include "slot/actor.hpp"
#include "slot/forked.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <future>
#include <thread>

namespace holdfast::slot_test {
namespace {

// From here on this process dies (SIGSYS) when it tries to lock, write into, make, move or remove a file.
bool only_look_from_now_on() {
    std::vector<sock_filter> code;
    auto load = [&code](std::size_t offset) {
        code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
    };
    auto kill_if_call_is = [&](long number) {
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    };
    constexpr std::size_t second = offsetof(seccomp_data, args) + 8,
                          third = offsetof(seccomp_data, args) + 16;
    load(offsetof(seccomp_data, nr));
    for (long number : {SYS_flock,    SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_ftruncate,
                        SYS_truncate, SYS_pwrite64, SYS_linkat,   SYS_symlinkat, SYS_mkdirat,
                        SYS_fchmod,   SYS_fchmodat, SYS_kill,     SYS_tgkill,    SYS_pidfd_send_signal,
#ifdef SYS_unlink
                        SYS_unlink,   SYS_rename,   SYS_open,     SYS_creat,     SYS_link,
                        SYS_symlink,  SYS_mkdir,    SYS_chmod
#endif
         })
        kill_if_call_is(number);
    // fcntl: the questions are allowed, the locks are not.
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 10));
    load(second);
    for (int command : {F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW}) {
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(command), 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    // openat: for reading only.
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3));
    load(third);
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog program{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class Readers : public SlotTest {
protected:
    // Looks at everything there is in the directory, under the filter.
    Forked look_only() {
        return in_fork([this]() -> std::string {
            if (!only_look_from_now_on())
                return "no filter here";
            std::string out;
            auto all = list_slots(directory());
            out += all ? std::to_string(all->size()) : all.error().message;
            auto info = query(slot());
            out += " " + (info ? std::string(name_of(info->state)) : info.error().message);
            auto ready = wait_for(slot(), WaitFor::ready, Millis{30});
            out += " " + (ready ? std::string("ready") : std::string(name_of(ready.error().code)));
            auto free = wait_for(slot(), WaitFor::free, Millis{30});
            out += " " + (free ? std::string("free") : std::string(name_of(free.error().code)));
            return out;
        });
    }
    void expect_only_looks(const std::string& said) {
        std::string before = listing(directory());
        int watch = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        ::inotify_add_watch(watch, directory().c_str(),
                            IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE);
        Forked got = look_only();
        if (got.said == "no filter here")
            GTEST_SKIP() << "this kernel has no seccomp filters";
        EXPECT_TRUE(WIFEXITED(got.status) && WEXITSTATUS(got.status) == 0) << "status " << got.status;
        EXPECT_EQ(got.said, said);
        char events[4096];
        EXPECT_EQ(::read(watch, events, sizeof events), -1) << "something was changed";
        ::close(watch);
        EXPECT_EQ(listing(directory()), before);
    }
};

TEST_F(Readers, OfAnEmptyDirectory) {
    expect_only_looks("0 free timed_out free");
}

TEST_F(Readers, OfAnOwnedSlot) {
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    expect_only_looks("1 owned timed_out timed_out");
    ASSERT_EQ(owner.ask("ready"), "ok");
    expect_only_looks("1 owned ready timed_out");
}

TEST_F(Readers, OfAFreeSlotWithATornRecord) {
    ASSERT_TRUE(harness::write_file(directory() + "/slot.lock", "holdfast ep"));
    ASSERT_TRUE(harness::write_file(directory() + "/slot.json", "{\"schema\":1"));
    ASSERT_TRUE(harness::write_file(directory() + "/slot.json.tmp", "{"));
    ASSERT_TRUE(harness::write_file(directory() + "/.odd.lock", ""));
    expect_only_looks("1 free timed_out free");
}

TEST_F(Readers, OfAnOrphanedSlot) {
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    ASSERT_SAYS(owner.ask("leftover"), "leftover");
    owner.kill();
    expect_only_looks("1 orphaned timed_out timed_out");
}

// The negative control: the filter does see who takes a slot.
TEST_F(Readers, NegativeControlATakerIsCaughtByTheFilter) {
    Forked got = in_fork([this]() -> std::string {
        if (!only_look_from_now_on())
            return "no filter here";
        return acquire(slot(), {}) ? "owned" : "not";
    });
    if (got.said == "no filter here")
        GTEST_SKIP() << "this kernel has no seccomp filters";
    EXPECT_TRUE(WIFSIGNALED(got.status) && WTERMSIG(got.status) == SIGSYS) << got.said;
}

// The record's two files change places at every word of the owner. Whoever reads meanwhile sees one whole
// record or another, never parts of two and never none.
TEST_F(Readers, SeeWholeRecordsWhileTheOwnerSpeaks) {
    auto owner = acquire(slot(), {});
    ASSERT_TRUE(owner && owner->ownership);
    std::atomic<bool> enough = false;
    auto read_on = [&]() -> std::string {
        std::uint64_t last = 0;
        while (!enough) {
            const auto info = query(slot());
            if (!info || !info->has_record || !info->record_is_current)
                return "no record";
            // Text and number were written together, the text sometimes long and sometimes short.
            if (info->status.size() != info->progress_done % 900)
                return "a text of " + std::to_string(info->status.size()) + " bytes with number " +
                       std::to_string(info->progress_done);
            if (info->progress_done < last)
                return "an old record after a newer one";
            last = info->progress_done;
        }
        return "";
    };
    ASSERT_TRUE(owner->ownership->report_progress(1, 0, "x"));
    std::vector<std::future<std::string>> readers;
    for (int i = 0; i < 3; ++i)
        readers.push_back(std::async(std::launch::async, read_on));
    for (std::uint64_t n = 2; n < 4000; ++n)
        if (n % 900 != 0) { // an empty status would leave the old one
            ASSERT_TRUE(owner->ownership->report_progress(n, 0, std::string(n % 900, 'x')));
        }
    enough = true;
    for (auto& reader : readers)
        EXPECT_EQ(reader.get(), "");
}

TEST_F(Readers, WaitForSeesReadyAndFreeByEvents) {
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    std::jthread teller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        (void)owner.ask("ready");
    });
    auto ready = wait_for(slot(), WaitFor::ready, test::patient(Millis{10'000}));
    ASSERT_TRUE(ready) << ready.error().message;
    EXPECT_EQ(ready->owner_pid, owner.pid());
    teller.join();
    std::jthread killer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        owner.signal(SIGKILL);
    });
    auto free = wait_for(slot(), WaitFor::free, test::patient(Millis{10'000}));
    ASSERT_TRUE(free) << free.error().message;
    EXPECT_EQ(free->state, SlotState::free);
}

} // namespace
} // namespace holdfast::slot_test
