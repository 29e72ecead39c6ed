#include "sys/user_home.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace holdfast::sys {
namespace {

namespace fs = std::filesystem;

class UserHome : public testing::Test {
protected:
    UserHome() {
        std::string pattern = fs::temp_directory_path() / "holdfast-passwd-XXXXXX";
        root = ::mkdtemp(pattern.data());
    }
    ~UserHome() override { fs::remove_all(root); }
    UserHome(const UserHome&) = delete;
    UserHome& operator=(const UserHome&) = delete;
    [[nodiscard]] std::optional<std::string> home(uid_t uid, const std::string& text) const {
        std::ofstream(root / "passwd") << text;
        return home_of_user(uid, root / "passwd");
    }
    fs::path root;
};

TEST_F(UserHome, IsTheSixthFieldOfTheFirstEntryWithTheId) {
    const std::string text = "root:x:0:0:root:/root:/bin/sh\n"
                             "# a comment\n\n"
                             "a:x:1000:1000:A,,,:/home/a:/bin/sh\n"
                             "b:x:1000:1000::/home/b:/bin/sh\n"
                             "last:x:7:7::/home/last:/bin/sh"; // no newline
    EXPECT_EQ(home(0, text), "/root");
    EXPECT_EQ(home(1000, text), "/home/a");
    EXPECT_EQ(home(7, text), "/home/last");
    EXPECT_EQ(home(1, text), std::nullopt);
    EXPECT_EQ(home(7, "x:x:7:7::/short"), "/short"); // no shell
}

TEST_F(UserHome, WhatIsNoEntryIsPassedOver) {
    for (const char* line : {"+::::::\n", "x:x:7\n", "x:x:7 :7::/h:/s\n", "x:x:-7:7::/h:/s\n",
                             "x:x::7::/h:/s\n", ":x:7:7::/h:/s\n", "x:x:7:7::relative:/s\n", "x:x:7:7:::/s\n",
                             "x:x:4294967303:7::/h:/s\n", "\n\n\n", ""})
        EXPECT_EQ(home(7, line), std::nullopt) << line;
    EXPECT_EQ(home_of_user(7, root / "none"), std::nullopt);
    EXPECT_EQ(home_of_user(7, root), std::nullopt); // a directory
}

TEST_F(UserHome, ReadingIsBounded) {
    const std::string entry = "x:x:7:7::/h:/s\n";
    EXPECT_EQ(home(7, std::string(100'000, 'a') + "\n" + entry), "/h");
    EXPECT_EQ(home(7, "y:x:7:7:" + std::string(5'000, 'a') + ":/y:/s\n"), std::nullopt);
    std::string far;
    while (far.size() <= (std::size_t{16} << 20))
        far += "somebody:x:99:99:a line of an enormous file:/home/somebody:/bin/sh\n";
    EXPECT_EQ(home(7, far + entry), std::nullopt);
    EXPECT_EQ(home_of_user(7, "/dev/zero"), std::nullopt);
}

} // namespace
} // namespace holdfast::sys
