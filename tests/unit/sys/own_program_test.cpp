#include "sys/own_program.hpp"
#include "sys/program_path.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace holdfast::sys {
namespace {

namespace fs = std::filesystem;

constexpr const char* name = "holdfast-of-the-test";
constexpr const char* variable = "HOLDFAST_OF_THE_TEST";

// A variable of the environment, for as long as this is.
class Set {
public:
    Set(const char* which, const std::string& value)
        : which_(which) {
        if (const char* old = std::getenv(which))
            before_ = old;
        ::setenv(which, value.c_str(), 1);
    }
    Set(const Set&) = delete;
    Set& operator=(const Set&) = delete;
    ~Set() {
        if (before_)
            ::setenv(which_, before_->c_str(), 1);
        else
            ::unsetenv(which_);
    }

private:
    const char* which_;
    std::optional<std::string> before_;
};

class OwnProgram : public testing::Test {
protected:
    OwnProgram() {
        std::string pattern = fs::temp_directory_path() / "holdfast-own-XXXXXX";
        root = ::mkdtemp(pattern.data());
    }
    ~OwnProgram() override { fs::remove_all(root); }
    OwnProgram(const OwnProgram&) = delete;
    OwnProgram& operator=(const OwnProgram&) = delete;
    std::string make(const fs::path& below, fs::perms rights = fs::perms::owner_all) const {
        const fs::path path = root / below;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << "#!/bin/true\n";
        fs::permissions(path, rights);
        return path;
    }
    [[nodiscard]] Result<std::string> find(const std::vector<std::string>& ours) const {
        return find_own_program(name, variable, ours, "the test");
    }
    fs::path root;
};

TEST_F(OwnProgram, TheVariableComesFirstThenWhatIsBesideUsThenThePath) {
    const std::string self = root / "lib/holdfast/self";
    const Set path("PATH", (root / "elsewhere").string());
    const auto in_path = make(fs::path("elsewhere") / name);
    EXPECT_EQ(*find({self}), in_path);
    EXPECT_EQ(*find({"", "no-folder"}), in_path);
    // From the farthest to the nearest: each goes before the ones that were made earlier.
    for (const char* place : {"bin", "lib/libexec/holdfast", "lib/bin", "lib/holdfast"}) {
        const auto made = make(fs::path(place) / name);
        fs::create_directories(root / "lib/holdfast");
        const auto found = find({self});
        ASSERT_TRUE(found) << place;
        EXPECT_TRUE(fs::equivalent(*found, made)) << *found;
        EXPECT_TRUE(found->starts_with('/'));
    }
    const auto named = make("named");
    const Set which(variable, named);
    EXPECT_EQ(*find({self}), named);
}

TEST_F(OwnProgram, OfSeveralFilesOfOursTheFirstHasTheWord) {
    const Set path("PATH", (root / "nowhere").string());
    const auto second = make(fs::path("b") / name);
    EXPECT_EQ(*find({root / "a/self", root / "b/self"}), second);
    const auto first = make(fs::path("a") / name);
    EXPECT_EQ(*find({root / "a/self", root / "b/self"}), first);
}

TEST_F(OwnProgram, WhatCannotBeExecutedIsPassedOverAndSaidWhereItWasNamed) {
    const Set path("PATH", (root / "elsewhere").string());
    make(fs::path("a") / name, fs::perms::owner_read);
    fs::create_directories(root / "b" / name); // a directory of that name
    auto found = find({root / "a/self", root / "b/self"});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::not_found);
    EXPECT_EQ(found.error().sys, ENOENT);
    EXPECT_EQ(found.error().message, std::string("the program ") + name +
                                         " was not found beside the test or in PATH; set " + variable +
                                         " to its path");
    make(fs::path("elsewhere") / name);
    const Set which(variable, root / "b" / name);
    found = find({});
    ASSERT_FALSE(found) << "a name that is given is not looked for elsewhere";
    EXPECT_EQ(found.error().message, std::string(variable) + " names " + (root / "b" / name).string() +
                                         ", which cannot be executed");
}

TEST_F(OwnProgram, ARelativePathIsOneFromHere) {
    std::string here(PATH_MAX, '\0');
    ASSERT_NE(::getcwd(here.data(), here.size()), nullptr);
    here.resize(here.find('\0'));
    EXPECT_EQ(*absolute_path("a/b"), here + "/a/b");
    EXPECT_EQ(*absolute_path("/a/b/"), "/a/b/");
    EXPECT_TRUE(fs::equivalent(own_program_path(), fs::read_symlink("/proc/self/exe")));
    EXPECT_TRUE(may_execute(own_program_path()));
    EXPECT_FALSE(may_execute(root));
    EXPECT_FALSE(may_execute(""));
}

} // namespace
} // namespace holdfast::sys
