// A crash at every system call. The stepper starts a program under ptrace, counts its system calls one after
// the other (all of them in order, not per name: a sweep per name reaches a fraction of the points and looks
// green), and kills the process at the k-th, before the call takes effect (entry) or right after (exit).
//
//   auto plain = stepper::count_syscalls(spec);                    // N and the names, a run without a kill
//   auto outcome = stepper::kill_at(spec, 17, When::entry);        // dead before its 17th call happened
//
// The program may fork. Every process of the family is followed; a Role says which of them is counted and
// killed. All work is done on a thread of its own, whose waits see only its own children and tracees, so a
// test may have other children meanwhile. Everything is bounded by the spec's deadline, and nothing of the
// family is left afterwards unless the spec says release.
#pragma once

#include "harness/child.hpp"
#include "holdfast/result.hpp"
#include "support/patience.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::stepper {

// What a Role may decide by. Taken anew when the process is born and after each exec.
struct ProcessView {
    pid_t pid = 0;
    int order = 0;        // 0 is the program itself; 1, 2, ... the others, in the order of their birth
    int parent_order = 0; // order of its parent at birth; -1 for the program itself
    int execs = 0;        // how many programs it has executed since its birth; 1 for the root once it runs
    std::string exe;      // file name of its executable, without the folders
};

using Role = std::function<bool(const ProcessView&)>;
Role root();                       // the program that was started
Role nth_born(int n);              // the n-th process of the family after the root, n >= 1
Role executable(std::string name); // whoever runs this executable, a forked and not yet exec'd copy too
Role executed(std::string name);   // only a process that itself executed this file
Role anybody();

enum class When {
    entry, // before the call takes effect
    exit,  // after it took effect
};

// What happens to the rest of the family when one was killed.
enum class Others {
    follow,  // they run on; what has not ended by itself within `settle` is killed and reported so
    release, // they are let go at once and live on without us; the caller sees to their end, and waits for
             // the root (it stays the test's child) when the root was not the victim
};

struct Spec {
    // Command, environment, folder, descriptors, group. Stdio::pipe means /dev/null here, since nobody would
    // read it: hand over descriptors through `fds` (0, 1 and 2 too), or use files. While it is traced the
    // whole family dies with the test.
    harness::SpawnSpec program;
    Role role = root();
    Others others = Others::follow;
    std::chrono::milliseconds limit =
        test::patient(std::chrono::seconds(10)); // of the whole run; whatever is left then is killed
    std::chrono::milliseconds settle = test::patient(std::chrono::seconds(3)); // after the kill
};

// How one process of the family went.
struct Ended {
    enum class How { exited, signalled, killed_here, ended_by_stepper, released };
    ProcessView process;
    How how = How::exited;
    int value = 0; // exit code or signal number
};
std::string to_string(const Ended& ended);

struct Counted {
    std::vector<std::string> names; // of the system calls of the role, in order; names[0] is the 1st
    std::vector<Ended> family;
    [[nodiscard]] std::size_t count() const { return names.size(); }
};

// Runs through without a kill. timed_out when it did not end within the limit.
Result<Counted> count_syscalls(const Spec& spec);

struct Outcome {
    bool reached = false; // false: the role never came to that point; the family ended by itself
    long number = -1;     // of the call at which it was killed
    std::string name;
    ProcessView victim;
    std::vector<Ended> family; // everyone, the victim included
    // The root's end, for messages and for runs that were not reached.
    [[nodiscard]] const Ended& root() const { return family.front(); }
};

// Kills the process of the role at its k-th system call, k from 1. The calls are numbered at their entry,
// over all processes of the role; with exit the process dies at the return of that same call. A call that
// never returns (exit_group) is not reached at exit.
Result<Outcome> kill_at(const Spec& spec, std::size_t k, When when);

// kill_at for k = 1, 2, ... until a point is no longer reached: the number of points can differ from run to
// run, so it is found out and not assumed. `make` gives a fresh spec (fresh files) for each k, `check` looks
// at what is left behind. Returns the number of points at which something was killed; overflow when `most`
// did not suffice, so that a program that never ends cannot pass for a finished sweep.
Result<std::size_t> sweep(When when, std::size_t most, const std::function<Spec(std::size_t k)>& make,
                          const std::function<void(std::size_t k, const Outcome&)>& check);

// "openat" for 257 on x86-64; "syscall_9999" for a number that the headers do not know.
std::string syscall_name(long number);

} // namespace holdfast::stepper
