#include "harness/child.hpp"
#include "harness/holdfast_program.hpp"
#include "harness/notify_file.hpp"
#include "harness/temp_dir.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

using namespace holdfast;
using namespace holdfast::harness;
using namespace std::chrono_literals;

namespace {

TEST(TempDir, IsPrivateAndGoesWithItsContent) {
    std::filesystem::path path;
    {
        const TempDir dir;
        path = dir.path();
        struct stat info{};
        ASSERT_EQ(::stat(path.c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777U, 0700U);
        ASSERT_TRUE(write_file(dir.file("x"), "content"));
        EXPECT_EQ(read_file(dir.file("x")).value_or("?"), "content");
        std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(WaitForFile, WakesWhenTheFileIsRenamedIntoPlace) {
    const TempDir dir;
    SpawnSpec spec;
    spec.argv = {"/bin/sh", "-c", "read go; echo 'ready 12 34' > t && mv t report"};
    spec.cwd = dir.path().string();
    spec.in = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    EXPECT_EQ(wait_for_file(dir.file("report"), Deadline::exactly(20ms)).error().code, Errc::timed_out);
    ASSERT_TRUE(child->write_in("go\n"));
    const auto content = wait_for_file(dir.file("report"), Deadline::in(5s));
    ASSERT_TRUE(content) << content.error().message;
    EXPECT_EQ(parse_ready(*content).value(), (std::vector<pid_t>{12, 34}));
}

TEST(ParseReady, RefusesOtherLines) {
    EXPECT_FALSE(parse_ready(""));
    EXPECT_FALSE(parse_ready("ready"));
    EXPECT_FALSE(parse_ready("steady 12"));
}

TEST(HoldfastHome, GivesEachCommandAPrivateHomeAndATokenAndNoOuterVariables) {
    ::setenv("NOTIFY_SOCKET", "/nowhere", 1);
    ::setenv("HOLDFAST_PROFILE", "outer", 1);
    const HoldfastHome home;
    auto spec = home.command({"slots"});
    EXPECT_EQ(spec.argv[0], bin_dir() + "/holdfast");
    spec.argv = {"/usr/bin/env"};
    const auto finished = run_to_end(spec, Deadline::in(5s));
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("HOLDFAST_PROFILE");
    ASSERT_TRUE(finished);
    EXPECT_TRUE(finished->out.contains("HOLDFAST_HOME=" + home.path() + "\n")) << finished->out;
    EXPECT_TRUE(finished->out.contains(home.mark().env() + "\n"));
    EXPECT_TRUE(finished->out.contains("PATH="));
    EXPECT_FALSE(finished->out.contains("NOTIFY_SOCKET"));
    EXPECT_FALSE(finished->out.contains("HOLDFAST_PROFILE"));
    EXPECT_EQ(home.animal("stopped", {"--x"}),
              (std::vector<std::string>{bin_dir() + "/zoo/stopped", home.mark().argument(), "--x"}));
}

} // namespace
