#include "stepper/launch.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

extern char** environ;

namespace holdfast::stepper {
namespace {

std::string_view key_of(std::string_view entry) {
    return entry.substr(0, entry.find('='));
}

std::vector<std::string> environment(const harness::SpawnSpec& program) {
    std::vector<std::string> env = program.env;
    const auto has = [&](std::string_view key) {
        for (const auto& entry : env)
            if (key_of(entry) == key)
                return true;
        return false;
    };
    for (char** entry = environ; !program.clear_env && *entry != nullptr; ++entry)
        if (!has(key_of(*entry)))
            env.emplace_back(*entry);
    // A leak check needs ptrace for itself and ends a traced process with an error.
    if (!has("ASAN_OPTIONS"))
        env.emplace_back("ASAN_OPTIONS=detect_leaks=0");
    for (auto& entry : env)
        if (key_of(entry) == "ASAN_OPTIONS" && !std::string_view(entry).contains("detect_leaks=0"))
            entry += ":detect_leaks=0";
    return env;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (auto& text : texts)
        out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

// Places `from` as `to` without close-on-exec; false on failure.
bool place(int from, int to) {
    return from == to ? ::fcntl(to, F_SETFD, 0) == 0 : ::dup2(from, to) >= 0;
}

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(const harness::SpawnSpec& program, char* const* argv, char* const* envp, int gate) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // until the tracer has seized us; after that PTRACE_O_EXITKILL holds
    char go = 0;
    if (::read(gate, &go, 1) != 1)
        ::_exit(127);
    ::prctl(PR_SET_PDEATHSIG, 0);
    for (int number = 1; number < NSIG; ++number)
        ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    bool good = program.own_session ? ::setsid() >= 0 : (!program.own_group || ::setpgid(0, 0) == 0);
    good = good && (program.cwd.empty() || ::chdir(program.cwd.c_str()) == 0);
    const harness::Stdio kinds[3] = {program.in, program.out, program.err};
    for (int number = 0; number < 3 && good; ++number)
        if (kinds[number] != harness::Stdio::inherit) {
            const int null = ::open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY);
            good = null >= 0 && place(null, number);
            if (null > 2)
                ::close(null);
        }
    for (const auto& [ours, theirs] : program.fds)
        good = good && place(ours, theirs);
    if (good)
        ::execvpe(argv[0], argv, envp);
    ::_exit(127);
}

} // namespace

Result<pid_t> launch_seized(const harness::SpawnSpec& wanted, long ptrace_options) {
    // Passed descriptors are lifted out of the way, so that placing one never overwrites the source of the
    // next.
    harness::SpawnSpec program = wanted;
    std::vector<sys::Fd> lifted;
    for (auto& [ours, theirs] : program.fds) {
        lifted.emplace_back(::fcntl(ours, F_DUPFD_CLOEXEC, 200));
        if (!lifted.back())
            return sys::fail_sys(base::cat("cannot pass on descriptor ", ours));
        ours = lifted.back().get();
    }
    if (program.argv.empty())
        return fail(Errc::invalid_argument, "no command to step through");
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return sys::fail_sys("pipe2");
    sys::Fd gate_read(ends[0]);
    const sys::Fd gate_write(ends[1]);
    auto argv_texts = program.argv;
    auto env_texts = environment(program);
    const auto argv = pointers(argv_texts);
    const auto envp = pointers(env_texts);
    const pid_t pid = ::fork();
    if (pid == 0)
        become(program, argv.data(), envp.data(), gate_read.get());
    if (pid < 0)
        return sys::fail_sys("fork");
    gate_read.reset();
    if (::ptrace(PTRACE_SEIZE, pid, nullptr, ptrace_options) != 0) {
        const int err = errno;
        ::kill(pid, SIGKILL); // our own unreaped child
        ::waitpid(pid, nullptr, 0);
        return sys::fail_sys("ptrace PTRACE_SEIZE", err);
    }
    if (::write(gate_write.get(), "g", 1) != 1) {
        const int err = errno;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, __WALL);
        return sys::fail_sys("write to the child", err);
    }
    return pid;
}

} // namespace holdfast::stepper
