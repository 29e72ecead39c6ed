// A file watch across fork(2).
#include "sys/file_watch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace holdfast::sys {
namespace {

class FileWatchFork : public ::testing::Test {
protected:
    FileWatchFork() {
        std::string made = (std::filesystem::temp_directory_path() / "holdfast-watch-XXXXXX").string();
        EXPECT_NE(::mkdtemp(made.data()), nullptr);
        directory_ = made;
    }
    ~FileWatchFork() override { std::filesystem::remove_all(directory_); }

    void write(const std::string& name) const { std::ofstream(directory_ + "/" + name) << "x"; }
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

TEST_F(FileWatchFork, AForkedChildHasNoneOfThemAndTakesNothingFromItsParent) {
    {
        auto idle = FileWatch::on_directory(directory_);
    }
    auto made = FileWatch::on_directory(directory_);
    ASSERT_TRUE(made);
    std::optional<FileWatch> watch(std::move(*made));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (instances() != 0)
            ::_exit(1);
        const int mine = ::open("/dev/null", O_RDONLY | O_CLOEXEC); // may get the number that was the watch's
        watch.reset();
        if (::fcntl(mine, F_GETFD) < 0)
            ::_exit(2);
        auto own = FileWatch::on_directory(directory_);
        write("child");
        ::_exit(own && told(*own) ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(told(*watch)); // what the child wrote
    watch->clear();
    write("a");
    EXPECT_TRUE(told(*watch)) << "the child has removed its parent's watch";
}

} // namespace
} // namespace holdfast::sys
