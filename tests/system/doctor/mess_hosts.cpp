#include "mess.hpp"

#include "base/text.hpp"
#include "harness/deadline.hpp"
#include "harness/holdfast_program.hpp"
#include "harness/notify_file.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace holdfast::mess {

namespace {

constexpr int report_fd = 100; // our stdout, out of the way of the helpers' numbers

std::string fresh_name() {
    static std::atomic<int> count = 0;
    return "ready." + std::to_string(::getpid()) + "." + std::to_string(++count);
}

[[noreturn]] void become(const std::vector<std::string>& argv, const Ends& ends) {
    ::dup2(ends.in, STDIN_FILENO);
    ::dup2(ends.out, STDOUT_FILENO);
    ::dup2(ends.err >= 0 ? ends.err : null_device(), STDERR_FILENO);
    std::vector<char*> words;
    for (const std::string& word : argv)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    ::_exit(71);
}

} // namespace

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    ::_exit(70);
}

Ends pipes() {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
        give_up("pipe");
    return {.in = in[0], .out = out[1], .host_in = in[1], .host_out = out[0]};
}

Ends socket_pair() {
    int both[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
        give_up("socketpair");
    return {.in = both[0], .out = both[0], .host_in = both[1], .host_out = both[1]};
}

int null_device() {
    return ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

int file_for_output(const std::string& name) {
    return ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void close_host_ends(const Ends& ends) {
    ::close(ends.host_in);
    if (ends.host_out != ends.host_in)
        ::close(ends.host_out);
}

Mess::Mess(std::string token, std::string directory)
    : token_(std::move(token))
    , directory_(std::move(directory)) {
    if (::dup3(STDOUT_FILENO, report_fd, O_CLOEXEC) < 0)
        give_up("dup3");
}

pid_t Mess::host(const std::function<void()>& body, bool lives) const {
    int done[2];
    if (::pipe2(done, O_CLOEXEC) != 0)
        give_up("pipe");
    pid_t pid = ::fork();
    if (pid < 0)
        give_up("fork");
    if (pid == 0) {
        ::setsid();
        ::alarm(3600); // the clock of its life; a red test never litters
        body();
        if (::write(done[1], "k", 1) != 1)
            give_up("write");
        ::close(done[0]);
        ::close(done[1]);
        if (!lives)
            ::_exit(0);
        for (;;)
            ::pause();
    }
    ::close(done[1]);
    char word = 0;
    while (::read(done[0], &word, 1) < 0) {
    }
    ::close(done[0]);
    if (word != 'k')
        give_up("a host of the mess did not come up");
    if (!lives)
        ::waitpid(pid, nullptr, 0);
    return pid;
}

pid_t Mess::dead_host(const std::function<void()>& body) const {
    return host(body, false);
}
pid_t Mess::living_host(const std::function<void()>& body) const {
    return host(body, true);
}

std::vector<pid_t> Mess::start(std::vector<std::string> argv, const Ends& ends) const {
    std::string report = path(fresh_name());
    ::setenv("ZOO_REPORT", report.c_str(), 1);
    pid_t pid = ::fork();
    if (pid < 0)
        give_up("fork");
    if (pid == 0)
        become(argv, ends);
    ::close(ends.in);
    if (ends.out != ends.in)
        ::close(ends.out);
    auto line = harness::wait_for_file(report, harness::Deadline::in(std::chrono::seconds(20)));
    auto pids = line ? harness::parse_ready(*line) : std::unexpected(line.error());
    if (!pids)
        give_up(pids.error().message.c_str());
    return *pids;
}

// The report is named by the environment and not by an argument: two of the same command must have the same
// words.
std::vector<std::string> Mess::animal(const std::string& name, std::vector<std::string> words) const {
    words.insert(words.begin(), {harness::program("zoo/" + name), "--token=" + token_, "--life=3600"});
    return words;
}

std::vector<std::string> Mess::role(const std::string& name) const {
    return {"/proc/self/exe", "--role=" + name, "--token=" + token_};
}

void Mess::say(const std::string& expectation, const std::string& name,
               const std::vector<pid_t>& pids) const {
    std::string line = base::cat(expectation, " ", name);
    for (pid_t pid : pids)
        line += base::cat(" ", pid);
    line += "\n";
    if (::write(report_fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        give_up("report");
}

} // namespace holdfast::mess
