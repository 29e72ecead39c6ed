// A host, `holdfast run` in front, a keeper, and an animal: started together, and each at hand by a pidfd.
#pragma once

#include "harness/eventually.hpp"
#include "harness/holdfast_program.hpp"
#include "harness/notify_file.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace holdfast::harness {

using namespace std::chrono_literals;

// How long the tests wait for what must happen. Generous: a busy machine is not a failure.
inline constexpr std::chrono::seconds patience{20};

// A process that is not the test's child.
class Other {
public:
    Other() = default;
    explicit Other(pid_t pid);
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] bool valid() const noexcept { return pidfd_.valid(); }
    void signal(int number) const;
    void queue(int number, int value) const; // as sigqueue(3)
    [[nodiscard]] bool ended(const Deadline& deadline = Deadline::in(patience)) const;
    [[nodiscard]] bool alive() const { return !ended(Deadline::exactly(0s)); }
    // Stops it and returns when it has stopped: it does nothing more until it is continued or killed.
    void freeze() const;

private:
    pid_t pid_ = 0;
    sys::Fd pidfd_;
};

struct SceneOptions {
    std::vector<std::string> host;     // options of keep_host
    std::vector<std::string> holdfast; // options of `holdfast run`
    std::vector<std::string> command;  // after --
    bool wait_ready = true;            // for the animal's report
};

class Scene {
public:
    explicit Scene(const HoldfastHome& home)
        : home_(home) {}

    // host → holdfast run OPTIONS -- COMMAND; returns when the animal is ready. Failures are the test's.
    void start(SceneOptions options);
    // host → COMMAND, without Holdfast.
    void start_unguarded(std::vector<std::string> command);

    [[nodiscard]] const Other& front() const { return front_; } // or the animal itself, when unguarded
    [[nodiscard]] const Other& keeper() const { return keeper_; }
    [[nodiscard]] Child& host() { return host_; }
    [[nodiscard]] const std::vector<pid_t>& animals() const { return animals_; } // as it reported them
    // Both at once, as far as they can tell: neither has a moment in which it alone is alive and runs.
    void kill_both_guards() const;
    // For a start that was not waited for.
    void find_keeper();
    void tell_host(char letter);
    // What the host says the command's exit status was.
    int status();

    // Whatever still carries the token, the host left out: empty when nothing is left by the deadline.
    [[nodiscard]] std::vector<ProcessInfo> survivors(const Deadline& deadline = Deadline::in(patience)) const;
    // What carries the token right now, the host left out.
    [[nodiscard]] std::vector<ProcessInfo> alive_now() const;

private:
    void begin(SpawnSpec spec, bool wait_ready);
    const HoldfastHome& home_;
    Child host_;
    Other front_;
    Other keeper_;
    std::vector<pid_t> animals_;
    std::string report_;
    int started_ = 0;
};

// The keeper below a front, as soon as there is one.
Other keeper_of(pid_t front);
// Entries of the registry, by the files that are there.
std::vector<std::string> registry_ids(const HoldfastHome& home);
// Whether `holdfast run --contain cgroup` works here; if not, why.
bool cgroups_can_be_made(std::string& why);
// The directory of the (v2) cgroup in which a process is; empty when there is none.
std::string cgroup_directory_of(pid_t pid);

} // namespace holdfast::harness
