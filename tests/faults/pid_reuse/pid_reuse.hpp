// Real PID reuse. A scenario runs as PID 1 of a new PID namespace with its own /proc, and there it may give a
// new process any free PID: the number of one that just died, for instance. Nothing outside can be hit by a
// mistake, and when the scenario returns, or its time is up, the kernel ends everything inside.
//
//   auto done = pid_reuse::run({}, [](Scenario& scene) {
//       auto first = scene.spawn_with_pid(400, [] { return 0; });
//       scene.reap(400);
//       auto second = scene.spawn_with_pid(400, sleeper);          // another process, the same number
//       scene.check(product_leaves_it_alone(400), "the stranger was not signalled");
//   });
//   ASSERT_TRUE(done); EXPECT_TRUE(done->passed()) << done->text();
#pragma once

#include "harness/child.hpp"
#include "harness/deadline.hpp"
#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::pid_reuse {

// A process that was given its number by us.
struct Spawned {
    pid_t pid = 0;
    sys::Fd pidfd; // opened by the kernel together with the process
};

// How a number is chosen.
enum class Means {
    automatic, // set_tid, else last_pid
    set_tid,   // clone3 with set_tid
    last_pid,  // /proc/sys/kernel/ns_last_pid and a plain fork; racy where others fork too
};

class Scenario {
public:
    // Starts `body` in a new process with exactly this PID; its return value is the exit code. Fails with
    // held when the number is taken: a zombie keeps its number until it is reaped.
    Result<Spawned> spawn_with_pid(pid_t pid, const std::function<int()>& body,
                                   Means means = Means::automatic);
    // Waits for the end of a child of ours, and frees its number.
    Result<harness::ExitStatus>
    reap(pid_t pid, const harness::Deadline& deadline = harness::Deadline::in(std::chrono::seconds(5)));
    // Ends a child by KILL through its pidfd, and frees its number.
    Result<harness::ExitStatus> end(const Spawned& process);

    // GoogleTest's own assertions do not cross a process border, so these do: what fails is reported outside.
    // Returns the condition.
    bool check(bool condition, const std::string& what);
    // A figure for the report, e.g. note("collisions", 42).
    void note(const std::string& name, long long value);

    explicit Scenario(int report_fd)
        : report_fd_(report_fd) {}

private:
    void report(const std::string& line) const;
    int report_fd_;
};

struct Report {
    std::vector<std::string> failures; // of check(), and of a scenario that crashed
    std::map<std::string, long long> notes;
    int checks = 0; // how many were made: a scenario that checked nothing has not passed
    [[nodiscard]] bool passed() const { return failures.empty() && checks > 0; }
    [[nodiscard]] std::string text() const;
};

struct Options {
    std::chrono::milliseconds limit{20000};
    bool user_namespace = false; // also when we are root; without privilege it is always used
};

// Runs it to its end. unsupported when this machine does not allow namespaces (a container without privilege,
// or a kernel setting): the caller skips, loudly. timed_out when the limit passed; everything inside is then
// dead.
Result<Report> run(const Options& options, const std::function<void(Scenario&)>& scenario);

// The pidfd's inode when pidfs gives one inode to each process; not on kernels before 6.9, where all are the
// same.
Result<unsigned long long> pidfs_inode(int pidfd);

} // namespace holdfast::pid_reuse
