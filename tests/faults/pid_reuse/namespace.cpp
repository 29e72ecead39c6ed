#include "base/text.hpp"
#include "harness/child.hpp"
#include "harness/pidfd.hpp"
#include "harness/temp_dir.hpp"
#include "pid_reuse/clone3.hpp"
#include "pid_reuse/pid_reuse.hpp"
#include "sys/errors.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace holdfast::pid_reuse {
namespace {

constexpr int cannot_set_up = 77; // exit code of a namespace that could not be furnished
constexpr int all_done = 0;

void map_user(uid_t uid, gid_t gid) {
    (void)harness::write_file("/proc/self/setgroups", "deny");
    (void)harness::write_file("/proc/self/uid_map", base::cat("0 ", uid, " 1"));
    (void)harness::write_file("/proc/self/gid_map", base::cat("0 ", gid, " 1"));
}

// PID 1 of the new namespace.
[[noreturn]] void be_init(uid_t uid, gid_t gid, bool own_users, int report_fd,
                          const std::function<void(Scenario&)>& scenario) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that is killed takes the namespace with it
    if (own_users)
        map_user(uid, gid);
    // Our mounts stay ours; then the /proc of this namespace over the old one.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
        ::_exit(cannot_set_up);
    Scenario scene(report_fd);
    scenario(scene);
    ::_exit(all_done);
}

// "check", "fail <what>", "note <name>=<value>", one a line.
Report parse(const std::string& text) {
    Report report;
    for (std::size_t from = 0; from < text.size();) {
        const auto end = std::min(text.find('\n', from), text.size());
        const std::string line = text.substr(from, end - from);
        from = end + 1;
        if (line == "check")
            ++report.checks;
        else if (line.starts_with("fail "))
            report.failures.push_back(line.substr(5));
        else if (line.starts_with("note ")) {
            const auto equals = line.find('=');
            report.notes[line.substr(5, equals - 5)] = std::stoll(line.substr(equals + 1));
        }
    }
    return report;
}

} // namespace

void Scenario::report(const std::string& line) const {
    std::string_view text = line;
    while (!text.empty()) {
        const ssize_t n = ::write(report_fd_, text.data(), text.size());
        if (n < 0 && errno != EINTR)
            ::_exit(cannot_set_up);
        text.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
}

bool Scenario::check(bool condition, const std::string& what) {
    report("check\n");
    if (!condition)
        report(base::cat("fail ", what, '\n'));
    return condition;
}

void Scenario::note(const std::string& name, long long value) {
    report(base::cat("note ", name, '=', value, '\n'));
}

std::string Report::text() const {
    std::string out = base::cat(checks, " checks, ", failures.size(), " failed\n");
    for (const auto& failure : failures)
        out += base::cat("failed: ", failure, '\n');
    for (const auto& [name, value] : notes)
        out += base::cat(name, " = ", value, '\n');
    return out;
}

Result<Report> run(const Options& options, const std::function<void(Scenario&)>& scenario) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return sys::fail_sys("pipe2");
    harness::PipeReader from_inside{sys::Fd(ends[0])};
    sys::Fd to_outside(ends[1]);
    const uid_t uid = ::geteuid();
    const gid_t gid = ::getegid();

    int raw_pidfd = -1;
    const auto clone_with = [&](bool own_users) {
        const pid_t pid =
            clone_process(CLONE_NEWPID | CLONE_NEWNS | (own_users ? CLONE_NEWUSER : 0), &raw_pidfd);
        if (pid == 0)
            be_init(uid, gid, own_users, to_outside.get(), scenario);
        return pid;
    };
    pid_t init = clone_with(options.user_namespace);
    if (init < 0 && errno == EPERM && !options.user_namespace)
        init = clone_with(true);
    if (init < 0)
        return fail(Errc::unsupported, base::cat("no PID namespace here: ", sys::describe_errno(errno)),
                    errno);
    const sys::Fd pidfd(raw_pidfd);
    to_outside.reset();

    // To the end of the report, not only of PID 1: all that were inside are gone then.
    const auto text = from_inside.read_to_end(harness::Deadline::in(options.limit));
    if (!text)
        (void)harness::pidfd_signal(pidfd.get(), SIGKILL); // and with it everything inside
    siginfo_t info{};
    while (::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED) != 0)
        if (errno != EINTR)
            return sys::fail_sys("waitid for the namespace");
    if (!text)
        return fail(Errc::timed_out,
                    base::cat("the scenario did not end in time; so far: ", from_inside.buffered()));
    if (info.si_code == CLD_EXITED && info.si_status == cannot_set_up)
        return fail(Errc::unsupported, "the namespace could not mount its /proc, or its report was cut off");
    Report report = parse(*text);
    if (info.si_code != CLD_EXITED || info.si_status != all_done)
        report.failures.push_back(base::cat(
            "the scenario itself ended badly: ", info.si_code == CLD_EXITED ? "exit code " : "signal ",
            info.si_status));
    return report;
}

} // namespace holdfast::pid_reuse
