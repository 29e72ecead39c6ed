// A process that uses the slot library on command: one word of the protocol per line on stdin, one line of
// answer on stdout. It ends with its stdin, so no test leaves one behind. See `commands` below for the words.
#include "base/duration.hpp"
#include "holdfast/slot.hpp"
#include "slot/contender.hpp"
#include "slot/freeze_points.hpp"
#include "slot/stopping.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::slot_child {
namespace {

volatile std::sig_atomic_t signals_heard = 0;
volatile std::sig_atomic_t last_signal = 0;
void hear(int number) {
    signals_heard = signals_heard + 1;
    last_signal = number;
}

SlotLocation location;
std::optional<Ownership> ownership;
std::optional<slot::Stopping> stopping;
std::vector<char> ballast;

std::string said(const Result<void>& result) {
    return result ? "ok"
                  : "error " + std::string(name_of(result.error().code)) + " " + result.error().message;
}

// Each cell of the table that was run goes into a file, a line each: it outlives whoever is killed.
void note_cell(core::SlotStep step, core::Seen seen) {
    const char* path = std::getenv("HOLDFAST_CELLS");
    int fd = path ? ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    std::string line = std::string(name_of(step)) + " " + std::string(name_of(seen)) + "\n";
    (void)!::write(fd, line.data(), line.size());
    ::close(fd);
}

// acquire POLICY [wait=MS] [grace=MS] [stall=MS] [patience=MS] [unseen=MS]
std::string acquire_as(std::istringstream& words) {
    static const std::map<std::string, IfHeld> policies{{"refuse", IfHeld::refuse},
                                                        {"wait", IfHeld::wait},
                                                        {"replace", IfHeld::replace},
                                                        {"attach", IfHeld::attach}};
    std::string policy, word;
    words >> policy;
    AcquireOptions options{.if_held = policies.at(policy), .argv = {"slot_child", policy}, .address = "here"};
    slot::Purpose purpose{.observe = note_cell};
    while (words >> word) {
        std::size_t equals = word.find('=');
        Millis value{std::strtoll(word.c_str() + equals + 1, nullptr, 10)};
        std::string key = word.substr(0, equals);
        if (key == "wait")
            options.wait = value;
        else if (key == "grace")
            options.grace = value;
        else if (key == "stall")
            options.stall = value;
        else if (key == "patience")
            purpose.patience = value;
        else if (key == "unseen")
            purpose.unseen = value;
    }
    auto got = slot::Contender(location, options, purpose).run(); // as acquire() does
    if (!got)
        return "error " + std::string(name_of(got.error().code)) + " " + got.error().message;
    if (!got->ownership)
        return "attached " + std::to_string(got->attached_to.owner_pid) + " " + got->attached_to.address;
    ownership = std::move(got->ownership);
    return "owned " + std::to_string(ownership->epoch());
}

// A child that stays until it is killed, for a minute at most. It is what `prepare` made of it when this
// returns: until a new child has run, it still has whatever the fork gave it.
template <typename Prepare>
pid_t fork_stayer(Prepare prepare) {
    int prepared[2];
    if (::pipe2(prepared, O_CLOEXEC) != 0)
        return -1;
    const pid_t child = ::fork();
    if (child == 0) {
        prepare();
        ::alarm(3600);
        for (int mine : {0, 1, prepared[0], prepared[1]}) // the last one tells the parent
            ::close(mine);
        for (;;)
            ::pause();
    }
    ::close(prepared[1]);
    char none = 0;
    while (::read(prepared[0], &none, 1) < 0 && errno == EINTR) {
    }
    ::close(prepared[0]);
    return child;
}

// leftover [ignore]: a child that holds the slot's life, ends with TERM (or ignores it), and at the latest in
// a minute.
std::string leave_child(std::istringstream& words) {
    std::string how;
    words >> how;
    // A copy that the library does not know, so that the fork keeps it. It stays open here too: closing any
    // descriptor of the lock file in this process would drop the owner byte.
    if (::dup(ownership->life_fd()) < 0)
        return "no descriptor";
    const bool ignores = how == "ignore";
    return "leftover " +
           std::to_string(fork_stayer([ignores] { ::signal(SIGTERM, ignores ? SIG_IGN : SIG_DFL); }));
}

// hide-life: a child that keeps the slot's life where nobody can see it: in a message that nobody has
// received. Lives until it is killed, for a minute at most.
std::string hide_life() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        return "no sockets";
    int copy = ownership->life_fd();
    char byte = 0;
    iovec data{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof copy)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof copy);
    std::memcpy(CMSG_DATA(header), &copy, sizeof copy);
    if (::sendmsg(ends[0], &message, 0) != 1)
        return "not sent";
    const pid_t child = fork_stayer([] {}); // the library closes the child's copies
    ::close(ends[0]);
    ::close(ends[1]);
    return "hidden " + std::to_string(child);
}

// What a forked child of the owner may and may not do; the answer is the child's exit code.
std::string fork_owner() {
    pid_t child = ::fork();
    if (child == 0) {
        int wrong = 0;
        if (ownership->life_fd() != -1)
            wrong |= 1;
        auto ready = ownership->ready();
        if (ready || ready.error().code != Errc::closed)
            wrong |= 2;
        ownership.reset(); // must not release what is the parent's
        auto again = acquire(location, {.if_held = IfHeld::refuse});
        if (again || again.error().code != Errc::held)
            wrong |= 4;
        auto seen = query(location);
        if (!seen || seen->state != SlotState::owned || seen->owner_pid != ::getppid())
            wrong |= 8;
        ::_exit(wrong);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return "child " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
}

std::string say_state() {
    auto info = query(location);
    if (!info)
        return "error " + std::string(name_of(info.error().code));
    std::string out = std::string(name_of(info->state)) + " pid=" + std::to_string(info->owner_pid) +
                      " epoch=" + std::to_string(info->epoch) +
                      " phase=" + std::string(name_of(info->phase)) +
                      " current=" + (info->record_is_current ? "1" : "0") +
                      " elsewhere=" + (info->owner_in_other_namespace ? "1" : "0") + " leftovers=";
    for (const Leftover& leftover : info->leftovers)
        out += std::to_string(leftover.pid) + ",";
    return out;
}

std::string watch_for(std::istringstream& words) {
    int ms = 0;
    words >> ms;
    pollfd one{.fd = ownership->watch_fd(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, ms) > 0 ? "event" : "quiet";
}

std::size_t children_of_threads() {
    std::size_t count = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream children(thread.path() / "children");
        int pid = 0;
        while (children >> pid)
            ++count;
    }
    return count;
}

std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    std::uint64_t number = 0;
    if (command == "acquire")
        return acquire_as(words);
    if (command == "query")
        return say_state();
    if (command == "starved") { // acquire with no descriptor to spare beyond the lock file's
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        int lowest = ::dup(0);
        ::close(lowest);
        rlimit few{.rlim_cur = static_cast<rlim_t>(lowest) + 1, .rlim_max = before.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &few);
        std::string said_then = acquire_as(words);
        ::setrlimit(RLIMIT_NOFILE, &before);
        return said_then;
    }
    if (command == "leftover")
        return leave_child(words);
    if (command == "hide-life")
        return hide_life();
    if (command == "fork")
        return fork_owner();
    if (command == "plain-fork") // a child that was given nothing
        return "forked " + std::to_string(fork_stayer([] {}));
    if (command == "also-wait") { // a second thread waits for another slot of the directory, for ever
        std::string other;
        words >> other;
        std::thread([other] {
            (void)acquire({.directory = location.directory, .name = other}, {.if_held = IfHeld::wait});
        }).detach();
        while (::access(("/proc/self/task/" + std::to_string(::getpid()) + "/children").c_str(), R_OK) == 0 &&
               children_of_threads() == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1)); // until its lock waiter stands
        return "ok";
    }
    if (command == "ask-to-stop") { // as the first half of `holdfast stop`
        stopping.emplace(location, StopOptions{.grace = Millis{3'600'000}});
        return "ok";
    }
    if (command == "stopped") { // and the second
        auto done = stopping->finish();
        if (!done)
            return "error " + std::string(name_of(done.error().code)) + " " + done.error().message;
        return std::string("stopped") +
               (done->successor ? " successor " + std::to_string(done->successor->epoch) : "");
    }
    if (command == "watch")
        return watch_for(words);
    if (command == "ready")
        return said(ownership->ready());
    if (command == "draining")
        return said(ownership->draining());
    if (command == "starting")
        return said(ownership->starting());
    if (command == "progress") {
        words >> number;
        return said(ownership->report_progress(number));
    }
    if (command == "extend") {
        words >> number;
        return said(ownership->extend_patience(Millis{static_cast<long long>(number)}));
    }
    if (command == "still-mine")
        return said(ownership->still_mine());
    if (command == "release") {
        ownership.reset();
        return "ok";
    }
    if (command == "hear") { // counts every signal that can be caught, instead of dying of it
        for (int signal = 1; signal < 32; ++signal)
            if (signal != SIGSEGV && signal != SIGBUS && signal != SIGABRT && signal != SIGCONT)
                (void)::signal(signal, hear);
        return "ok";
    }
    if (command == "heard")
        return "heard " + std::to_string(signals_heard) + " " + std::to_string(last_signal);
    if (command == "ignore-term") {
        (void)::signal(SIGTERM, SIG_IGN);
        return "ok";
    }
    if (command == "ballast") { // megabytes, touched
        words >> number;
        ballast.assign(number << 20, '\1');
        return "ok";
    }
    if (command == "name") {
        std::string name = line.substr(5);
        ::prctl(PR_SET_NAME, name.c_str());
        return "ok";
    }
    if (command == "freeze-at") {
        std::string point;
        words >> point;
        if (point == "pidfd_open")
            freeze.pidfd_open = 1;
        else if (point == "epoch_write")
            freeze.epoch_write = true;
        else if (point == "pidfd_signal")
            freeze.pidfd_signal = true;
        else if (point == "lock_close")
            freeze.lock_close = true;
        else if (point == "record_rename")
            freeze.record_rename = true;
        else
            return "no such point";
        return "ok";
    }
    return "what?";
}

} // namespace
} // namespace holdfast::slot_child

// slot_child DIRECTORY NAME
int main(int argc, char** argv) {
    if (argc < 3)
        return 64;
    holdfast::slot_child::location = {.directory = argv[1], .name = argv[2]};
    std::string line;
    while (std::getline(std::cin, line))
        std::cout << holdfast::slot_child::answer(line) << std::endl;
    return 0;
}
