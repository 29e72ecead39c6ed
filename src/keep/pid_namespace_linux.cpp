#include "keep/pid_namespace.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "core/front_signals.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace holdfast::keep {

namespace {

bool write_text(const char* path, std::string_view text) {
    sys::Fd fd(::open(path, O_WRONLY | O_CLOEXEC));
    return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

int complain(std::string_view what) {
    std::fprintf(stderr, "holdfast: %s: %s\n", std::string(what).c_str(), sys::describe_errno(errno).c_str());
    return 126;
}

// Unprivileged users get the namespace through a user namespace in which they are who they were.
bool enter_namespaces() {
    uid_t uid = ::geteuid();
    gid_t gid = ::getegid();
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) == 0)
        return true;
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0)
        return false;
    return write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", base::cat(uid, ' ', uid, " 1")) &&
           write_text("/proc/self/gid_map", base::cat(gid, ' ', gid, " 1"));
}

int status_of(const siginfo_t& info) {
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

Result<sys::SignalQueue> signals_to_pass_on() {
    std::vector<int> heard = core::signals_of_use();
    heard.push_back(SIGCHLD);
    return sys::SignalQueue::of(heard, sys::SignalQueue::Ignored::are_heard);
}

// A TERM of the keeper has reached every process of the tree already, and a second one makes some programs
// give up their clean-up. So the init inside passes on only a TERM that the process outside has sent it,
// which has a value.
constexpr std::uint64_t term_of_others = 1;

void pass_on(const sys::PidFd& child, const sys::SignalQueue::Arrived& arrived, bool inside,
             bool own_session) {
    const int signal = arrived.signal;
    const core::SignalUse use = core::use_of(signal);
    if (use == core::SignalUse::stop_plan) {
        if (!inside && arrived.sender != ::getppid())
            (void)child.queue(signal, term_of_others);
        else if (inside && arrived.value == term_of_others)
            (void)child.signal(signal);
        return;
    }
    // What the kernel sends to a terminal's process group has come to all of us, child included.
    const core::SignalDeed deed =
        core::deed_for(signal, {.from_kernel = arrived.from_kernel, .shares_group = true});
    if (deed == core::SignalDeed::nothing || deed == core::SignalDeed::stop_self)
        return;
    // In a session of its own nobody could continue it: the kernel lets nothing but STOP stop it there.
    if (inside && own_session && use == core::SignalUse::pause)
        (void)child.signal(SIGSTOP);
    else
        (void)(arrived.value ? child.queue(signal, *arrived.value) : child.signal(signal));
}

// Waits for one child, passing signals on to it, reaping all others (an init's work).
int wait_and_pass_on(const sys::PidFd& child, const sys::SignalQueue& signals, bool inside,
                     bool own_session) {
    for (;;) {
        pollfd one{.fd = signals.fd(), .events = POLLIN, .revents = 0};
        ::poll(&one, 1, -1);
        while (auto arrived = signals.next())
            pass_on(child, *arrived, inside, own_session);
        siginfo_t info{};
        while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) {
            if (info.si_pid == child.pid())
                return status_of(info);
            info = {};
        }
    }
}

} // namespace

sys::SpawnSpec inside_pid_namespace(const std::vector<std::string>& command) {
    sys::SpawnSpec out;
    out.executable = "/proc/self/exe";
    out.argv = {"holdfast-keep", namespace_word, "--"};
    out.argv.insert(out.argv.end(), command.begin(), command.end());
    return out;
}

int namespace_main(int argc, char** argv) {
    if (argc < 4)
        return complain("no command");
    auto signals = signals_to_pass_on();
    if (!signals)
        return complain("signals");
    if (!enter_namespaces())
        return complain("cannot make a PID namespace; use --contain plain");
    const bool own_session = ::getsid(0) == ::getpid();
    pid_t init = ::fork(); // this process is small and has one thread
    if (init < 0)
        return complain("fork");
    if (init == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        // Its own /proc, so that the helper sees the PIDs it has.
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
        ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
        sys::SpawnSpec spec;
        spec.argv.assign(argv + 3, argv + argc);
        auto command = sys::spawn(spec);
        if (!command) {
            std::fprintf(stderr, "holdfast: %s\n", base::printable(command.error().message).c_str());
            return command.error().sys == ENOENT ? 127 : 126;
        }
        return wait_and_pass_on(*command, *signals, true, own_session);
    }
    auto process = sys::PidFd::open(init);
    return process ? wait_and_pass_on(*process, *signals, false, own_session) : complain("pidfd");
}

} // namespace holdfast::keep
