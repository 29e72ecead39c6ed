#include "keep/terminal.hpp"

#include "harness/pidfd.hpp"

#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace holdfast::harness {

Terminal::Terminal(pid_t pid, sys::Fd pidfd, sys::Fd keyboard, sys::Fd screen)
    : pid_(pid)
    , pidfd_(std::move(pidfd))
    , keyboard_(std::move(keyboard))
    , screen_(std::move(screen)) {}

Terminal::~Terminal() {
    if (!pidfd_.valid())
        return;
    (void)pidfd_signal(pidfd_.get(), SIGKILL);
    (void)wait(Deadline::in(std::chrono::seconds(10)));
}

Result<Terminal> Terminal::run(const std::vector<std::string>& argv, const std::vector<std::string>& env) {
    std::vector<char*> words, variables;
    for (const std::string& word : argv)
        words.push_back(const_cast<char*>(word.c_str()));
    for (const std::string& variable : env)
        variables.push_back(const_cast<char*>(variable.c_str()));
    words.push_back(nullptr);
    variables.push_back(nullptr);
    int master = -1;
    const winsize size{.ws_row = 24, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
    const pid_t pid = ::forkpty(&master, nullptr, nullptr, &size);
    if (pid < 0)
        return fail(Errc::cannot_start, "forkpty", errno);
    if (pid == 0) {
        ::execve(words[0], words.data(), variables.data());
        ::_exit(127);
    }
    sys::Fd keyboard(master);
    auto pidfd = open_pidfd(pid);
    if (!pidfd)
        return std::unexpected(pidfd.error());
    return Terminal(pid, std::move(*pidfd), std::move(keyboard), sys::Fd(::dup(master)));
}

void Terminal::type(const std::string& keys) const {
    (void)!::write(keyboard_.get(), keys.data(), keys.size());
}

void Terminal::resize(unsigned short rows, unsigned short columns) const {
    const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    (void)::ioctl(keyboard_.get(), TIOCSWINSZ, &size);
}

Result<ExitStatus> Terminal::wait(const Deadline& deadline) {
    if (auto ended = wait_pidfd(pidfd_.get(), deadline); !ended)
        return std::unexpected(ended.error());
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_)
        return fail(Errc::not_found, "not our child, or reaped already", errno);
    pidfd_.reset();
    return ExitStatus{.signalled = WIFSIGNALED(status),
                      .value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)};
}

} // namespace holdfast::harness
