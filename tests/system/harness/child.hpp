// A real child process of a test: started with its own process group, held by a pidfd, waited for with a
// deadline, and ended when the object goes. Nothing here signals by PID number.
#pragma once

#include "harness/deadline.hpp"
#include "harness/pipe_reader.hpp"
#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <csignal>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace holdfast::harness {

enum class Stdio {
    null,    // /dev/null
    pipe,    // the other end is in the Child
    inherit, // the test's own
};

struct SpawnSpec {
    std::vector<std::string> argv; // argv[0] with a '/' is a path, else looked up in PATH
    std::vector<std::string> env;  // "KEY=value", laid over the test's own environment
    bool clear_env = false;        // start from nothing instead of the test's own environment
    std::string cwd;               // empty: the test's own
    Stdio in = Stdio::null;
    Stdio out = Stdio::pipe;
    Stdio err = Stdio::inherit;
    std::vector<std::pair<int, int>> fds; // (ours, its number in the child, from 3 up); all others stay here
    bool own_group = true;                // leader of a new process group
    bool own_session = false;             // leader of a new session (and so of a group)
    bool die_with_us = false;             // PDEATHSIG KILL; fires also when the spawning *thread* ends
};

// How a process ended.
struct ExitStatus {
    bool signalled = false;
    int value = 0; // exit code, or number of the signal
    [[nodiscard]] bool exited_with(int code) const { return !signalled && value == code; }
    [[nodiscard]] bool killed_by(int signal) const { return signalled && value == signal; }
    [[nodiscard]] int shell_code() const { return signalled ? 128 + value : value; }
    friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};
std::string to_string(const ExitStatus& status);

class Child {
public:
    Child() = default;
    // Starts it; returns after its exec succeeded, or with cannot_start and the errno of the exec.
    static Result<Child> spawn(const SpawnSpec& spec);

    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child(); // SIGKILL through the pidfd and reap, unless it was waited for or released

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
    // False once it has ended, also while it is still a zombie.
    [[nodiscard]] bool alive() const;
    // Waits and reaps; a second call gives the same answer. timed_out leaves it running.
    Result<ExitStatus> wait(const Deadline& deadline);
    // Waits for the end without reaping: the process stays a zombie until wait() or the destructor.
    Result<void> wait_ended(const Deadline& deadline) const;
    Result<void> signal(int number) const;
    // SIGKILL and reap.
    Result<ExitStatus> kill(const Deadline& deadline = Deadline::in(std::chrono::seconds(10)));

    PipeReader& out() noexcept { return out_; }
    PipeReader& err() noexcept { return err_; }
    Result<void> write_in(std::string_view text); // whole, blocking; a closed pipe is an error, not a SIGPIPE
    void close_in() { in_.reset(); }
    [[nodiscard]] int in_fd() const noexcept { return in_.get(); }
    // Gives the process up: no kill, no reap at destruction. For children that are to outlive the object.
    void release() { pid_ = -1; }

private:
    void end() noexcept;
    pid_t pid_ = -1;
    bool reaped_ = false;
    ExitStatus status_;
    sys::Fd pidfd_;
    sys::Fd in_;
    PipeReader out_;
    PipeReader err_;
};

// Waits until a process that need not be our child has ended (its pidfd became readable).
Result<void> wait_pidfd(int pidfd, const Deadline& deadline);
// A pidfd for a process that the caller knows to be the right one (its own child, or one just reported and
// checked); not_found when there is none.
Result<sys::Fd> open_pidfd(pid_t pid);

// Starts, collects stdout and stderr (whatever the spec says of them, both are piped), waits, reaps.
struct Finished {
    ExitStatus status;
    std::string out;
    std::string err;
};
Result<Finished> run_to_end(SpawnSpec spec, const Deadline& deadline, std::string_view input = {});

} // namespace holdfast::harness
