#include "sys/file_watch.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace holdfast::sys {
namespace {

class FileWatchTest : public ::testing::Test {
protected:
    FileWatchTest() {
        std::string made = (std::filesystem::temp_directory_path() / "holdfast-watch-XXXXXX").string();
        EXPECT_NE(::mkdtemp(made.data()), nullptr);
        directory_ = made;
    }
    ~FileWatchTest() override { std::filesystem::remove_all(directory_); }

    [[nodiscard]] std::string file(const std::string& name) const { return directory_ + "/" + name; }
    void write(const std::string& name) const { std::ofstream(file(name)) << "x"; }

    static bool told(const FileWatch& watch) {
        pollfd one{.fd = watch.fd(), .events = POLLIN, .revents = 0};
        return ::poll(&one, 1, 0) > 0; // events are there when the call that makes them returns
    }
    static int instances() {
        int found = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            if (std::filesystem::read_symlink(entry.path(), gone) == "anon_inode:inotify")
                ++found;
        }
        return found;
    }

    std::string directory_;
};

TEST_F(FileWatchTest, AChangeIsToldAndWhatWasClearedIsNot) {
    auto watch = FileWatch::on_directory(directory_);
    ASSERT_TRUE(watch);
    EXPECT_FALSE(told(*watch));
    write("a");
    EXPECT_TRUE(told(*watch));
    watch->clear();
    EXPECT_FALSE(told(*watch));
}

TEST_F(FileWatchTest, ChangesAreNoClosings) {
    write("a");
    auto changes = FileWatch::on_changes_in(directory_);
    auto all = FileWatch::on_directory(directory_);
    ASSERT_TRUE(changes && all);
    {
        const std::ofstream opened(file("a"), std::ios::app);
    } // for writing, and not written
    EXPECT_TRUE(told(*all));
    EXPECT_FALSE(told(*changes));
    write("b");
    EXPECT_TRUE(told(*changes));
}

TEST_F(FileWatchTest, AnInstanceServesOneAfterTheOtherAndNoneHearsOfItsPredecessors) {
    const std::string other = file("other");
    std::filesystem::create_directory(other);
    {
        auto first = FileWatch::on_directory(directory_);
    }
    const int before = instances();
    for (int i = 0; i < 100; ++i) {
        {
            auto old = FileWatch::on_directory(directory_);
            ASSERT_TRUE(old);
            write("a"); // not read by anybody
        }
        auto next = FileWatch::on_directory(other);
        ASSERT_TRUE(next);
        write("a");
        EXPECT_FALSE(told(*next));
    }
    EXPECT_EQ(instances(), before);
    EXPECT_GT(before, 0);
}

TEST_F(FileWatchTest, AFewAreLaidAsideAndTheOthersClosed) {
    {
        std::vector<FileWatch> many;
        for (int i = 0; i < 20; ++i) {
            auto made = FileWatch::on_directory(directory_);
            ASSERT_TRUE(made);
            many.push_back(std::move(*made));
        }
        EXPECT_GE(instances(), 20);
    }
    EXPECT_LE(instances(), 4);
}

} // namespace
} // namespace holdfast::sys
