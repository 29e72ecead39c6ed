// A power cut under the memory helper: ext4 on a loop file, shut down without flushing its journal, mounted
// again. Needs root and a loop device; skipped, with the reason, where they are not there.
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

#include <sys/ioctl.h>

#include <set>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

constexpr unsigned long ext4_ioc_shutdown = _IOR('X', 125, std::uint32_t);
constexpr std::uint32_t without_log_flush = 2;

bool run(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

class LoopDisk {
public:
    explicit LoopDisk(const TempHome& home)
        : image_(home.file("disk.img"))
        , mount_(home.file("mnt")) {
        std::filesystem::create_directory(mount_);
        made_ = ::geteuid() == 0 && run("truncate -s 96M " + image_) && run("mkfs.ext4 -q -F " + image_) &&
                attach();
    }
    LoopDisk(const LoopDisk&) = delete;
    LoopDisk& operator=(const LoopDisk&) = delete;
    ~LoopDisk() { detach(); }
    [[nodiscard]] bool made() const { return made_; }
    [[nodiscard]] std::string home() const { return mount_ + "/home"; }
    bool attach() { return mounted_ = run("mount -o loop " + image_ + " " + mount_); }
    void detach() {
        if (mounted_)
            mounted_ = !run("umount " + mount_);
    }
    [[nodiscard]] bool cut_power() const {
        const int fd = ::open(mount_.c_str(), O_RDONLY | O_CLOEXEC);
        std::uint32_t how = without_log_flush;
        const bool done = fd >= 0 && ::ioctl(fd, ext4_ioc_shutdown, &how) == 0;
        ::close(fd);
        return done;
    }

private:
    std::string image_;
    std::string mount_;
    bool made_ = false;
    bool mounted_ = false;
};

TEST(G10NothingAcknowledgedIsLost, a_power_cut_keeps_every_answered_turn) {
    const TempHome home;
    LoopDisk disk(home);
    if (!disk.made())
        GTEST_SKIP() << "needs root, mkfs.ext4 and a loop device";
    std::set<std::int64_t> answered;
    {
        MemoryProcess memory(disk.home());
        prepare(memory);
        // Something that nobody synced: it shows below that the cut was one.
        ASSERT_TRUE(run("sh -c 'echo not synced > " + disk.home() + "/witness'"));
        for (int i = 1000; i < 1300; ++i)
            memory.write(turn_line(i));
        for (int i = 0; i < 100; ++i) {
            const auto line = memory.line();
            ASSERT_TRUE(line);
            const auto answer = json::parse(*line).as_object();
            ASSERT_TRUE(answer.contains("result")) << *line;
            answered.insert(answer.at("id").as_int64());
        }
        // Without power no process runs on, so ours stands still first. Left running, it may be told by a
        // sync that was under way during the shutdown that all is well, which no real cut could tell it.
        ::kill(memory.pid(), SIGSTOP);
        int status = 0;
        ASSERT_EQ(::waitpid(memory.pid(), &status, WUNTRACED), memory.pid());
        ASSERT_TRUE(WIFSTOPPED(status));
        // What is in the pipe was answered: it counts.
        while (const auto line = memory.line_within(std::chrono::milliseconds(100))) {
            const auto answer = json::parse(*line).as_object();
            ASSERT_TRUE(answer.contains("result")) << *line;
            answered.insert(answer.at("id").as_int64());
        }
        ASSERT_TRUE(disk.cut_power());
        ::kill(memory.pid(), SIGKILL);
        (void)memory.wait();
    }
    disk.detach();
    ASSERT_TRUE(disk.attach());
    EXPECT_NE(TempHome::read_path(disk.home() + "/witness"), "not synced\n")
        << "negative control: nothing was lost at all";
    std::multiset<std::int64_t> kept;
    {
        MemoryProcess memory(disk.home());
        const auto timeline = memory.call("memory.timeline", {{"episodeId", "e"}});
        ASSERT_TRUE(timeline.contains("result")) << json::serialize(timeline);
        for (const auto& trace : timeline.at("result").at("traces").as_array())
            kept.insert(trace.at("ts").as_int64());
        memory.close_input();
        EXPECT_EQ(memory.wait(), 0);
    }
    EXPECT_GE(answered.size(), 100U);
    for (const auto number : answered)
        EXPECT_EQ(kept.count(number), 1U) << number;
}

} // namespace
} // namespace holdfast::test
