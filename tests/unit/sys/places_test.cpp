// Files among those of others, directories that cannot be made, commands that cannot be found: known before
// anything is changed, and told apart from "nothing of that name".
#include "sys/directories.hpp"
#include "sys/program_path.hpp"
#include "sys/whole_file.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace holdfast::sys {
namespace {

namespace fs = std::filesystem;

class Places : public testing::Test {
protected:
    Places() {
        std::string pattern = fs::temp_directory_path() / "holdfast-places-XXXXXX";
        root = ::mkdtemp(pattern.data());
    }
    ~Places() override { fs::remove_all(root); }
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;
    static std::string text_of(const fs::path& path) {
        std::ostringstream out;
        out << std::ifstream(path).rdbuf();
        return out.str();
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(root), fs::directory_iterator()));
    }
    fs::path root;
};

TEST_F(Places, AFileIsPutWholeOverAnOlderOneAndNothingElseIsTouched) {
    const fs::path path = root / "x.pid";
    std::ofstream(root / "x.pid.tmp") << "somebody else's";
    for (const char* text : {"one\n", "two\n"}) {
        ASSERT_TRUE(put_whole(path, text));
        EXPECT_EQ(text_of(path), text);
        EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    }
    EXPECT_EQ(text_of(root / "x.pid.tmp"), "somebody else's");
    EXPECT_EQ(files(), 2u);
}

TEST_F(Places, WhatIsNoPlainFileStaysWhereItIs) {
    fs::create_directory(root / "directory");
    std::ofstream(root / "directory/precious") << "kept";
    ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
    fs::create_symlink(root / "directory/precious", root / "link");
    for (const char* name : {"directory", "pipe", "link", "directory/", "none/x", "directory/precious/x"}) {
        const std::string path = root / name;
        for (const auto& result : {check_place_for(path), put_whole(path, "x")}) {
            ASSERT_FALSE(result) << path;
            EXPECT_EQ(result.error().code, Errc::cannot_create) << path << ": " << result.error().message;
        }
    }
    EXPECT_FALSE(put_whole("", "x"));
    EXPECT_EQ(text_of(root / "directory/precious"), "kept");
    EXPECT_TRUE(fs::is_fifo(root / "pipe"));
    EXPECT_TRUE(fs::is_symlink(root / "link"));
    EXPECT_EQ(files(), 3u);
    EXPECT_TRUE(check_place_for(root / "new"));
    EXPECT_EQ(files(), 3u) << "asking makes nothing";
}

TEST_F(Places, ADirectoryThatCannotBeMadeIsNotSomethingThatWasNotFound) {
    std::ofstream(root / "file") << "x";
    for (const std::string& path : {std::string("/proc/holdfast-test/a"), std::string(root / "file/a")}) {
        auto made = make_directories(path);
        ASSERT_FALSE(made) << path;
        EXPECT_EQ(made.error().code, Errc::cannot_create) << path << ": " << made.error().message;
    }
}

TEST_F(Places, ACommandIsFoundAsExecWouldFindIt) {
    EXPECT_TRUE(check_program("sh"));
    EXPECT_TRUE(check_program("/bin/sh"));
    std::ofstream(root / "data") << "x";
    fs::permissions(root / "data", fs::perms::owner_read);
    struct {
        std::string name;
        int sys;
    } const wrong[] = {{"no-such-command-at-all", ENOENT},
                       {"/nonexistent", ENOENT},
                       {root / "data", EACCES},
                       {root, EACCES},
                       {root / "data/x", ENOENT}};
    for (const auto& [name, sys] : wrong) {
        auto found = check_program(name);
        ASSERT_FALSE(found) << name;
        EXPECT_EQ(found.error().code, Errc::cannot_start) << name;
        EXPECT_EQ(found.error().sys, sys) << name;
    }
}

} // namespace
} // namespace holdfast::sys
