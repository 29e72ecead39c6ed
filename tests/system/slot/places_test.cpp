// Where a slot may live, and what is said where it may not: clear words, nothing changed on disk.
#include "slot/actor.hpp"
#include "slot/forked.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace holdfast::slot_test {
namespace {

class Places : public SlotTest {
protected:
    // A directory that belongs to the user whom as_nobody() becomes.
    std::string theirs() {
        std::string path = directory() + "/theirs";
        std::filesystem::create_directory(path);
        EXPECT_EQ(::chmod(path.c_str(), 0700), 0);
        EXPECT_EQ(::chmod(directory().c_str(), 0711), 0);
        if (::geteuid() == 0) {
            EXPECT_EQ(::chown(path.c_str(), nobody, nobody), 0);
        }
        return path;
    }
    static std::string try_to_take(const std::string& where) {
        auto got = acquire({where, "slot"}, {});
        return got ? "owned" : std::string(name_of(got.error().code)) + " " + got.error().message;
    }
};

TEST_F(Places, AReadOnlyDirectory) {
    std::string path = theirs();
    ASSERT_EQ(::chmod(path.c_str(), 0500), 0);
    std::string before = listing(path);
    Forked got = as_nobody([&] { return try_to_take(path); });
    EXPECT_SAYS(got.said, "unsafe_directory you may not use your own directory " + path);
    EXPECT_EQ(listing(path), before);
}

TEST_F(Places, AReadOnlyDirectoryCanStillBeLookedAt) {
    std::string path = theirs();
    Forked made = as_nobody([&] { return try_to_take(path); });
    ASSERT_EQ(made.said, "owned");
    ASSERT_EQ(::chmod(path.c_str(), 0500), 0);
    Forked got = as_nobody([&] {
        auto info = query({path, "slot"});
        return info ? std::string(name_of(info->state)) : info.error().message;
    });
    EXPECT_EQ(got.said, "free");
}

TEST_F(Places, ADirectoryThatOthersCanWriteTo) {
    for (mode_t mode : {0777u, 0770u, 0707u, 01777u}) {
        ASSERT_EQ(::chmod(directory().c_str(), mode), 0);
        std::string before = listing(directory());
        EXPECT_SAYS(try_to_take(directory()),
                    "unsafe_directory others can write to the directory " + directory());
        EXPECT_EQ(listing(directory()), before);
    }
    ASSERT_EQ(::chmod(directory().c_str(), 0755), 0); // readable by others is no danger to a lock
    EXPECT_EQ(try_to_take(directory()), "owned");
}

TEST_F(Places, AnotherUsersDirectory) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to make files of another user";
    std::string path = theirs();
    std::string before = listing(path);
    EXPECT_SAYS(try_to_take(path), "unsafe_directory the directory " + path + " belongs to user 65534");
    EXPECT_EQ(listing(path), before);
}

TEST_F(Places, AnotherUsersFilesInOurDirectory) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to make files of another user";
    std::string path = theirs();
    // The lock file decides, so it must be ours. Readable or not: refused, with a name, and left alone.
    ASSERT_TRUE(harness::write_file(path + "/slot.lock", ""));
    for (mode_t mode : {0666u, 0600u}) {
        ASSERT_EQ(::chmod((path + "/slot.lock").c_str(), mode), 0);
        Forked got = as_nobody([&] { return try_to_take(path); });
        EXPECT_SAYS(got.said, mode == 0666u ? "unsafe_directory " + path + "/slot.lock belongs to user 0"
                                            : "not_permitted open " + path + "/slot.lock");
    }
    // The record decides nothing, so whosever it is, it does not stand in the way.
    std::filesystem::remove(path + "/slot.lock");
    ASSERT_TRUE(harness::write_file(path + "/slot.json", "root's"));
    ASSERT_TRUE(harness::write_file(path + "/slot.json.tmp", "root's"));
    ASSERT_EQ(::chmod((path + "/slot.json").c_str(), 0600), 0);
    ASSERT_EQ(::chmod((path + "/slot.json.tmp").c_str(), 0600), 0);
    Forked got = as_nobody([&] { return try_to_take(path); });
    EXPECT_EQ(got.said, "owned");
}

TEST_F(Places, SomethingElseUnderTheNameOfTheLock) {
    std::string lock = directory() + "/slot.lock", target = directory() + "/target";
    ASSERT_TRUE(harness::write_file(target, "precious"));
    std::filesystem::create_symlink(target, lock);
    EXPECT_SAYS(try_to_take(directory()), "unsafe_directory " + lock + " is a symbolic link");
    EXPECT_EQ(harness::read_file(target).value(), "precious");
    std::filesystem::remove(lock);
    ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
    EXPECT_SAYS(try_to_take(directory()), "unsafe_directory " + lock + " is not a plain file");
    std::filesystem::remove(lock);
    std::filesystem::create_directory(lock);
    EXPECT_SAYS(try_to_take(directory()), "cannot_create open " + lock + ": Is a directory");
}

TEST_F(Places, SomethingElseUnderTheNameOfTheTemporaryRecord) {
    std::string temporary = directory() + "/slot.json.tmp", target = directory() + "/target";
    ASSERT_TRUE(harness::write_file(target, "precious"));
    std::filesystem::create_symlink(target, temporary);
    EXPECT_EQ(try_to_take(directory()), "owned");
    EXPECT_EQ(harness::read_file(target).value(), "precious");
    ASSERT_EQ(::mkfifo(temporary.c_str(), 0600), 0);
    EXPECT_EQ(try_to_take(directory()), "owned");
}

TEST_F(Places, AFullDisk) {
    std::string path = directory() + "/small";
    std::filesystem::create_directory(path);
    Forked got = in_fork([&]() -> std::string {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("small", path.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
            return "no mounts here";
        // Full before the first start, full with a lock file, and with room again.
        std::string filler = path + "/filler", out;
        auto fill = [&] {
            int fd = ::open(filler.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
            char block[4096] = {};
            while (::write(fd, block, sizeof block) > 0) {
            }
            ::close(fd);
        };
        fill();
        out += try_to_take(path).substr(0, 9) + "|";
        out += try_to_take(path).substr(0, 9) + "|";
        out += std::string(name_of(query({path, "slot"})->state)) + "|";
        ::unlink(filler.c_str());
        {
            auto owner = acquire({path, "slot"}, {});
            out += owner && owner->ownership ? "owned|" : "not|";
            fill();
            // An owner that cannot write its record is told so, and stays the owner.
            auto said = owner->ownership->report_progress(1, 0, std::string(8192, 'x'));
            out += std::string(said ? "ok" : name_of(said.error().code)) + "|";
            out += owner->ownership->still_mine() ? "mine|" : "lost|";
            out += try_to_take(path).substr(0, 5) + "|";
        }
        ::unlink(filler.c_str());
        return out + try_to_take(path);
    });
    if (got.said == "no mounts here")
        GTEST_SKIP() << "needs the right to mount a small tmpfs";
    EXPECT_EQ(got.said, "no_space |no_space |free|owned|no_space|mine|held |owned");
}

TEST_F(Places, NoDescriptorsLeft) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer's own checks need a descriptor";
#endif
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    ASSERT_EQ(owner.ask("ready"), "ok");
    for (const char* policy : {"refuse", "wait", "replace"}) {
        Actor late = actor();
        std::string answer = late.ask(std::string("starved ") + policy);
        EXPECT_TRUE(begins(answer, "error no_space ") || begins(answer, "error held "))
            << policy << ": " << answer;
    }
    EXPECT_TRUE(owner.child().alive());
}

} // namespace
} // namespace holdfast::slot_test
