#include "harness/child.hpp"

#include "base/text.hpp"
#include "harness/pidfd.hpp"
#include "sys/errors.hpp"

#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

extern char** environ;

namespace holdfast::harness {
namespace {

struct Pipe {
    sys::Fd read;
    sys::Fd write;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return sys::fail_sys("pipe2");
    return Pipe{sys::Fd(ends[0]), sys::Fd(ends[1])};
}

std::string_view key_of(std::string_view entry) {
    return entry.substr(0, entry.find('='));
}

std::vector<std::string> merged_env(const SpawnSpec& spec) {
    std::vector<std::string> env;
    const auto overridden = [&](std::string_view entry) {
        for (const auto& own : spec.env)
            if (key_of(own) == key_of(entry))
                return true;
        return false;
    };
    for (char** entry = environ; !spec.clear_env && *entry != nullptr; ++entry)
        if (!overridden(*entry))
            env.emplace_back(*entry);
    env.insert(env.end(), spec.env.begin(), spec.env.end());
    return env;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (auto& text : texts)
        out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

// What the child does between fork and exec. Everything it needs was made before the fork: only
// async-signal-safe calls here, since the test may have threads.
struct Launch {
    const SpawnSpec& spec;
    char* const* argv;
    char* const* envp;
    int stdio[3];
    int error_pipe;
    pid_t parent;

    [[noreturn]] void fail_with_errno() const {
        const int err = errno;
        [[maybe_unused]] const ssize_t n = ::write(error_pipe, &err, sizeof err);
        ::_exit(127);
    }

    [[noreturn]] void operator()() const {
        for (int number = 1; number < NSIG; ++number)
            ::signal(number, SIG_DFL); // fails for KILL and STOP, harmlessly
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        if (spec.own_session ? ::setsid() < 0 : (spec.own_group && ::setpgid(0, 0) != 0))
            fail_with_errno();
        if (spec.die_with_us) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent) // it died before the line above
                ::_exit(127);
        }
        if (!spec.cwd.empty() && ::chdir(spec.cwd.c_str()) != 0)
            fail_with_errno();
        for (int number = 0; number < 3; ++number)
            place(stdio[number], number);
        for (const auto& [ours, theirs] : spec.fds)
            place(ours, theirs);
        ::execvpe(argv[0], argv, envp);
        fail_with_errno();
    }

    void place(int from, int to) const {
        if (from == to) { // dup2 would leave close-on-exec set
            if (::fcntl(to, F_SETFD, 0) != 0)
                fail_with_errno();
        } else if (::dup2(from, to) < 0) {
            fail_with_errno();
        }
    }
};

// Moves a descriptor out of the way of the numbers that the child's own set will use.
Result<sys::Fd> lifted(int fd) {
    const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, 200);
    if (high < 0)
        return sys::fail_sys("fcntl F_DUPFD_CLOEXEC");
    return sys::Fd(high);
}

// The child's end of one stdio stream; the test's end, if any, goes to `ours`.
Result<sys::Fd> stdio_end(Stdio kind, int number, sys::Fd& ours) {
    if (kind == Stdio::inherit)
        return lifted(number);
    if (kind == Stdio::null) {
        const sys::Fd null(::open("/dev/null", (number == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC));
        return null ? lifted(null.get()) : sys::fail_sys("open /dev/null");
    }
    auto pipe = make_pipe();
    if (!pipe)
        return std::unexpected(pipe.error());
    ours = std::move(number == 0 ? pipe->write : pipe->read);
    return lifted((number == 0 ? pipe->read : pipe->write).get());
}

ExitStatus status_of(const siginfo_t& info) {
    return {info.si_code != CLD_EXITED, info.si_status};
}

} // namespace

std::string to_string(const ExitStatus& status) {
    return status.signalled ? base::cat("killed by signal ", status.value)
                            : base::cat("exited with ", status.value);
}

Result<sys::Fd> open_pidfd(pid_t pid) {
    sys::Fd fd(pidfd_open(pid));
    if (!fd)
        return errno == ESRCH ? fail(Errc::not_found, base::cat("no process ", pid), ESRCH)
                              : sys::fail_sys(base::cat("pidfd_open ", pid));
    return fd;
}

Result<void> wait_pidfd(int pidfd, const Deadline& deadline) {
    for (;;) {
        pollfd poller{pidfd, POLLIN, 0};
        const int ready = ::poll(&poller, 1, deadline.remaining_ms());
        if (ready > 0)
            return {};
        if (ready < 0 && errno != EINTR)
            return sys::fail_sys("poll on a pidfd");
        if (deadline.passed())
            return fail(Errc::timed_out, "the process still runs");
    }
}

Result<Child> Child::spawn(const SpawnSpec& spec) {
    if (spec.argv.empty())
        return fail(Errc::invalid_argument, "no command to start");
    Child child;
    sys::Fd ends[3];
    sys::Fd ours[3];
    const Stdio kinds[3] = {spec.in, spec.out, spec.err};
    for (int number = 0; number < 3; ++number) {
        auto end = stdio_end(kinds[number], number, ours[number]);
        if (!end)
            return std::unexpected(end.error());
        ends[number] = std::move(*end);
    }
    // The passed descriptors are lifted too, so that placing one never overwrites the source of the next.
    std::vector<sys::Fd> keep;
    SpawnSpec placed = spec;
    for (auto& [mine, theirs] : placed.fds) {
        auto high = lifted(mine);
        if (!high)
            return std::unexpected(high.error());
        mine = high->get();
        keep.push_back(std::move(*high));
    }
    auto errors = make_pipe();
    if (!errors)
        return std::unexpected(errors.error());
    auto error_end = lifted(errors->write.get());
    if (!error_end)
        return std::unexpected(error_end.error());
    errors->write.reset();

    auto env = merged_env(spec);
    auto envp = pointers(env);
    auto argv = pointers(placed.argv);
    const Launch launch{placed,           argv.data(),
                        envp.data(),      {ends[0].get(), ends[1].get(), ends[2].get()},
                        error_end->get(), ::getpid()};
    child.pid_ = ::fork();
    if (child.pid_ == 0)
        launch();
    if (child.pid_ < 0)
        return sys::fail_sys("fork");
    // Our own unreaped child: the number cannot have been given away.
    child.pidfd_ = sys::Fd(pidfd_open(child.pid_));
    if (!child.pidfd_) {
        const int err = errno;
        child.end();
        return sys::fail_sys("pidfd_open", err);
    }
    error_end->reset();
    child.in_ = std::move(ours[0]);
    child.out_ = PipeReader(std::move(ours[1]));
    child.err_ = PipeReader(std::move(ours[2]));

    int exec_errno = 0;
    ssize_t n = 0;
    do
        n = ::read(errors->read.get(), &exec_errno, sizeof exec_errno);
    while (n < 0 && errno == EINTR);
    if (n == static_cast<ssize_t>(sizeof exec_errno))
        return fail(Errc::cannot_start, base::cat(spec.argv[0], ": ", sys::describe_errno(exec_errno)),
                    exec_errno);
    return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1))
    , reaped_(other.reaped_)
    , status_(other.status_)
    , pidfd_(std::move(other.pidfd_))
    , in_(std::move(other.in_))
    , out_(std::move(other.out_))
    , err_(std::move(other.err_)) {}

Child& Child::operator=(Child&& other) noexcept {
    if (this != &other) {
        end();
        pid_ = std::exchange(other.pid_, -1);
        reaped_ = other.reaped_;
        status_ = other.status_;
        pidfd_ = std::move(other.pidfd_);
        in_ = std::move(other.in_);
        out_ = std::move(other.out_);
        err_ = std::move(other.err_);
    }
    return *this;
}

Child::~Child() {
    end();
}

void Child::end() noexcept {
    if (pid_ <= 0 || reaped_)
        return;
    if (pidfd_)
        (void)pidfd_signal(pidfd_.get(), SIGKILL);
    else
        ::kill(pid_, SIGKILL); // our unreaped child, and there is no pidfd to use
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
    }
    pid_ = -1;
}

bool Child::alive() const {
    if (pid_ <= 0 || reaped_)
        return false;
    pollfd poller{pidfd_.get(), POLLIN, 0};
    return ::poll(&poller, 1, 0) == 0;
}

Result<void> Child::wait_ended(const Deadline& deadline) const {
    if (reaped_)
        return {};
    if (pid_ <= 0)
        return fail(Errc::closed, "no child here");
    return wait_pidfd(pidfd_.get(), deadline);
}

Result<ExitStatus> Child::wait(const Deadline& deadline) {
    if (reaped_)
        return status_;
    if (auto ended = wait_ended(deadline); !ended)
        return std::unexpected(ended.error());
    siginfo_t info{};
    while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0)
        if (errno != EINTR)
            return sys::fail_sys(base::cat("waitid for ", pid_));
    reaped_ = true;
    status_ = status_of(info);
    return status_;
}

Result<void> Child::signal(int number) const {
    if (!pidfd_)
        return fail(Errc::closed, "no child here");
    if (pidfd_signal(pidfd_.get(), number) != 0)
        return sys::fail_sys(base::cat("pidfd_send_signal to ", pid_));
    return {};
}

Result<ExitStatus> Child::kill(const Deadline& deadline) {
    if (!reaped_)
        if (auto sent = signal(SIGKILL); !sent && sent.error().sys != ESRCH)
            return std::unexpected(sent.error());
    return wait(deadline);
}

Result<void> Child::write_in(std::string_view text) {
    // Blocked for this thread and taken back if it fired: the test's own handlers stay as they are.
    sigset_t pipe_signal;
    sigset_t before;
    ::sigemptyset(&pipe_signal);
    ::sigaddset(&pipe_signal, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    Result<void> result{};
    while (!text.empty() && result) {
        const ssize_t n = ::write(in_.get(), text.data(), text.size());
        if (n >= 0)
            text.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR)
            result = sys::fail_sys("write to the child's stdin");
    }
    if (!result && result.error().sys == EPIPE) {
        const timespec now{};
        ::sigtimedwait(&pipe_signal, nullptr, &now);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return result;
}

} // namespace holdfast::harness
