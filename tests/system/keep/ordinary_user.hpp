// `holdfast run` as an ordinary user, also when the tests run as root: root may inspect every process, and so
// never meets what a user meets. Programs and home are in a directory that this user may use.
#pragma once

#include "harness/holdfast_program.hpp"
#include "harness/notify_file.hpp"
#include "keep/scene.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::harness {

class OrdinaryUser {
public:
    using Words = std::vector<std::string>;

    OrdinaryUser() {
        namespace fs = std::filesystem;
        fs::create_directories(dir_.path() / "bin/zoo");
        fs::create_directories(dir_.path() / "home");
        fs::copy_file(program("holdfast"), dir_.path() / "bin/holdfast");
        for (const char* animal : {"undumpable", "timer_holder", "setsid_daemon"})
            fs::copy_file(program(std::string("zoo/") + animal), dir_.path() / "bin/zoo" / animal);
        fs::permissions(dir_.path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
        if (tests_are_root() && ::chown(dir_.file("home").c_str(), number, number) != 0)
            ADD_FAILURE() << "chown of the home";
    }

    static bool tests_are_root() { return ::geteuid() == 0; }
    // The words that make a command one of that user's.
    static Words become() {
        if (!tests_are_root())
            return {};
        return {"/usr/bin/setpriv", "--reuid=" + std::to_string(number), "--regid=" + std::to_string(number),
                "--clear-groups"};
    }

    [[nodiscard]] std::string holdfast_path() const { return dir_.file("bin/holdfast"); }
    [[nodiscard]] Words animal(const std::string& name, const Words& words = {}) const {
        Words out{dir_.file("bin/zoo/" + name), mark_.argument()};
        out.insert(out.end(), words.begin(), words.end());
        return out;
    }
    // A program of root's that everybody may run as root, as sudo is; only for tests that are root. Where the
    // directory forbids such programs the animal does not start.
    [[nodiscard]] Words animal_of_root(const std::string& name) const {
        namespace fs = std::filesystem;
        const std::string become_root = dir_.file("bin/become_root");
        fs::copy_file("/usr/bin/setpriv", become_root, fs::copy_options::overwrite_existing);
        if (::chmod(become_root.c_str(), 04755) != 0)
            ADD_FAILURE() << "chmod of " << become_root;
        return Words{become_root, "--reuid=0", "--regid=0", "--clear-groups"} + animal(name);
    }
    [[nodiscard]] std::string slots() const { return dir_.file("home/run/default/slots"); }

    // `holdfast words...` of that user; or of the tests' own user, in the same home.
    [[nodiscard]] SpawnSpec command(const Words& words, bool as_user = true) const {
        SpawnSpec spec;
        if (as_user)
            spec.argv = become();
        spec.argv.push_back(holdfast_path());
        spec.argv.insert(spec.argv.end(), words.begin(), words.end());
        spec.clear_env = true;
        spec.env = {"PATH=/usr/bin:/bin", "HOLDFAST_HOME=" + dir_.file(as_user ? "home" : "of-root"),
                    "ZOO_REPORT=" + dir_.file("home/report"), mark_.env()};
        spec.err = Stdio::pipe;
        return spec;
    }
    [[nodiscard]] Finished run(const Words& words, bool as_user = true) const {
        auto done = run_to_end(command(words, as_user), Deadline::in(patience));
        EXPECT_TRUE(done) << done.error().message;
        return done ? std::move(*done) : Finished{};
    }

    // `holdfast run OPTIONS -- COMMAND`, when its animal is ready: the animal's processes as it reported
    // them.
    void start(const Words& options, const Words& command_words, bool as_user = true) {
        Words words{"run", "--host", "none", "--contain", "plain"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command_words.begin(), command_words.end());
        auto started = Child::spawn(command(words, as_user));
        ASSERT_TRUE(started) << started.error().message;
        front_ = std::move(*started);
        const auto said = wait_for_file(dir_.file("home/report"), Deadline::in(patience));
        ASSERT_TRUE(said) << said.error().message;
        const auto pids = parse_ready(*said);
        ASSERT_TRUE(pids) << *said;
        animals_.clear();
        for (const pid_t pid : *pids)
            animals_.emplace_back(pid);
        std::filesystem::remove(dir_.file("home/report"));
    }
    // Every front and keeper below and with the one that was started, none of which gets to do anything.
    void kill_all_guards() {
        std::vector<Other> guards;
        for (const ProcessInfo& process : descendants(front_.pid()))
            if (process.name == "holdfast-keep") // keepers first: see Scene::kill_both_guards()
                guards.emplace_back(process.pid);
        for (const ProcessInfo& process : descendants(front_.pid()))
            if (process.name == "holdfast")
                guards.emplace_back(process.pid);
        guards.emplace_back(front_.pid());
        for (const Other& guard : guards)
            guard.freeze();
        for (const Other& guard : guards)
            guard.signal(SIGKILL);
        for (const Other& guard : guards)
            EXPECT_TRUE(guard.ended());
    }
    [[nodiscard]] const std::vector<Other>& animals() const { return animals_; }
    [[nodiscard]] Child& front() { return front_; }

private:
    static constexpr unsigned number = 65534;
    TempDir dir_; // first, so that it goes last
    MarkGuard mark_;
    Child front_;
    std::vector<Other> animals_;
};

} // namespace holdfast::harness
