// A made-up mess of more than 50 processes, each with the truth about it. Says one line per helper,
//   EXPECTATION NAME PID...
// where EXPECTATION is a kind of finding with "!" for proven or "?" for suspected, or "innocent"; then
// "ready". Ends, with everything below it, by the test's token.
#include "mess.hpp"

#include "harness/marked.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

using holdfast::mess::Ends;
using holdfast::mess::Mess;

namespace {

void orphans(const Mess& mess) {
    auto orphan = [&](const std::string& name, const std::vector<std::string>& argv, Ends (*make_ends)()) {
        mess.dead_host([&] { mess.say("orphaned!", name, mess.start(argv, make_ends())); });
    };
    orphan("pipes", mess.animal("timer_holder"), holdfast::mess::pipes);
    orphan("socket", mess.animal("timer_holder"), holdfast::mess::socket_pair);
    orphan("term_ignorer", mess.animal("term_ignorer"), holdfast::mess::pipes);
    orphan("stopped", mess.animal("stopped"), holdfast::mess::pipes);
    orphan("stopped_ignorer", mess.animal("stopped", {"--ignore-term"}), holdfast::mess::pipes);
    orphan("odd_name", mess.animal("odd_name"), holdfast::mess::pipes);
    orphan("memory", mess.animal("memory_holder", {"--mb=8"}), holdfast::mess::pipes);
    orphan("launcher", mess.animal("launcher"), holdfast::mess::socket_pair);
    orphan("heir_leaver", mess.role("heir_leaver"), holdfast::mess::pipes);
    int log[2]; // stays open in the mess: a log that is still read makes nobody reachable
    if (::pipe2(log, O_CLOEXEC) != 0)
        holdfast::mess::give_up("pipe");
    mess.dead_host([&] {
        Ends ends = holdfast::mess::pipes();
        ends.err = log[1];
        mess.say("orphaned!", "logging", mess.start(mess.animal("timer_holder"), ends));
    });
    mess.dead_host([&] { // the launcher has gone before: its server is the orphan
        auto pids = mess.start(mess.animal("launcher", {"--die"}), holdfast::mess::pipes());
        mess.say("orphaned!", "behind_launcher", {pids.at(1)});
    });
    mess.dead_host([&] { // two orphans of one birth
        auto pids = mess.start(mess.animal("double_forker"), holdfast::mess::pipes());
        mess.say("orphaned!", "forker", {pids.at(0)});
        mess.say("orphaned!", "grandchild", {pids.at(1)});
    });
    mess.dead_host([&] { // one host, many helpers: nobody is a duplicate of an orphan
        for (int i = 0; i < 4; ++i)
            mess.say("orphaned!", "one_of_four",
                     mess.start(mess.animal("timer_holder", {"--x"}), holdfast::mess::pipes()));
    });
}

void doubtful_orphans(const Mess& mess) {
    auto doubtful = [&](const std::string& expectation, const std::string& name,
                        const std::vector<std::string>& argv, Ends (*make_ends)()) {
        mess.dead_host([&] { mess.say(expectation, name, mess.start(argv, make_ends())); });
    };
    doubtful("orphaned?", "busy", mess.animal("cpu_spinner", {"--seconds=100"}), holdfast::mess::pipes);
    doubtful("orphaned?", "unix_listener", mess.role("unix_listener"), holdfast::mess::pipes);
    doubtful("orphaned?", "tcp_listener", mess.role("tcp_listener"), holdfast::mess::socket_pair);
    mess.dead_host([&] {
        Ends ends = holdfast::mess::pipes();
        if (::write(ends.host_in, "{}\n", 3) != 3)
            holdfast::mess::give_up("write");
        mess.say("orphaned?", "unread_input", mess.start(mess.animal("term_ignorer"), ends));
    });
    mess.dead_host([&] {
        Ends ends = holdfast::mess::pipes();
        int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (::grantpt(master) != 0 || ::unlockpt(master) != 0)
            holdfast::mess::give_up("pty");
        ends.err = ::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        mess.say("orphaned?", "terminal", mess.start(mess.animal("term_ignorer"), ends));
    });
    mess.dead_host([&] {
        Ends ends = holdfast::mess::pipes();
        ends.out = holdfast::mess::file_for_output(mess.path("log"));
        mess.say("no_writer?", "log_writer", mess.start(mess.animal("timer_holder"), ends));
    });
}

void living_hosts(const Mess& mess) {
    mess.living_host([&] {
        Ends old = holdfast::mess::pipes();
        auto dropped = mess.start(mess.animal("timer_holder", {"--dropped"}), old);
        holdfast::mess::close_host_ends(old);
        mess.say("dropped?", "generation", dropped);
        ::usleep(30'000); // generations are more than a tick of the start time apart
        mess.say("innocent", "newer_generation",
                 mess.start(mess.animal("timer_holder", {"--dropped"}), holdfast::mess::pipes()));
    });
    mess.living_host([&] {
        Ends ends = holdfast::mess::socket_pair();
        mess.say("no_writer?", "let_go", mess.start(mess.animal("timer_holder", {"--let-go"}), ends));
        holdfast::mess::close_host_ends(ends);
    });
    mess.living_host([&] {
        std::vector<pid_t> both;
        for (int i = 0; i < 2; ++i)
            both.push_back(mess.start(mess.animal("echo_server", {"--pair"}), holdfast::mess::pipes()).at(0));
        mess.say("duplicate?", "one_host", both);
    });
    std::vector<pid_t> each;
    int numbers[2];
    if (::pipe2(numbers, O_CLOEXEC) != 0)
        holdfast::mess::give_up("pipe");
    for (int i = 0; i < 3; ++i) {
        mess.living_host([&] {
            pid_t pid =
                mess.start(mess.animal("echo_server", {"--each"}), holdfast::mess::socket_pair()).at(0);
            if (::write(numbers[1], &pid, sizeof pid) != sizeof pid)
                holdfast::mess::give_up("write");
        });
        pid_t pid = 0;
        if (::read(numbers[0], &pid, sizeof pid) != sizeof pid)
            holdfast::mess::give_up("read");
        each.push_back(pid);
    }
    mess.say("duplicate?", "many_hosts", each);
    mess.living_host([&] {
        Ends ends = holdfast::mess::pipes();
        ends.in = holdfast::mess::null_device();
        auto pids = mess.start(mess.animal("careless_parent"), ends);
        mess.say("zombie!", "careless", {pids.at(1)});
        mess.say("innocent", "careless_parent", {pids.at(0)});
    });
}

void innocents(const Mess& mess) {
    auto innocent = [&](const std::string& name, const std::vector<std::string>& argv, const Ends& ends) {
        mess.say("innocent", name, mess.start(argv, ends));
    };
    mess.dead_host([&] { // a daemon by the book
        Ends ends = holdfast::mess::pipes();
        auto pids = mess.start(mess.animal("setsid_daemon", {"--leader-exits"}), ends);
        mess.say("innocent", "daemon", {pids.at(1)});
    });
    mess.dead_host([&] { // nohup
        innocent("nohup", mess.animal("term_ignorer"),
                 {.in = holdfast::mess::null_device(),
                  .out = holdfast::mess::file_for_output(mess.path("nohup"))});
    });
    mess.dead_host([&] { // gen | compute > file, shell gone
        Ends ends = holdfast::mess::pipes();
        ends.out = holdfast::mess::file_for_output(mess.path("computed"));
        innocent("computing_pipeline", mess.animal("cpu_spinner", {"--seconds=100"}), ends);
    });
    mess.dead_host([&] { // gen | work | reader > file, shell gone: the reader lives
        Ends work = holdfast::mess::pipes();
        Ends reader{.in = work.host_out, .out = holdfast::mess::file_for_output(mess.path("read"))};
        innocent("piped_work", mess.animal("timer_holder"), work);
        innocent("piped_reader", mess.animal("timer_holder"), reader);
    });
    mess.living_host([&] { // true | sleep | true: the shell waits for it
        Ends ends{.in = holdfast::mess::null_device(), .out = holdfast::mess::null_device()};
        std::string words;
        for (const std::string& word : mess.animal("timer_holder"))
            words += "'" + word + "' ";
        innocent("shell_pipeline", {"/bin/sh", "-c", "true | " + words + "| true; exit 0"}, ends);
    });
    mess.living_host(
        [&] { innocent("in_use", mess.animal("echo_server", {"--used"}), holdfast::mess::pipes()); });
    mess.living_host([&] { // npx has gone, the host still talks to its server
        auto pids = mess.start(mess.animal("launcher", {"--die", "--kept"}), holdfast::mess::pipes());
        ::waitpid(pids.at(0), nullptr, 0);
        mess.say("innocent", "kept_behind_launcher", {pids.at(1)});
    });
    mess.living_host([&] { // input was closed on purpose, the answer is awaited
        Ends ends = holdfast::mess::pipes();
        auto pids = mess.start(mess.animal("timer_holder", {"--answering"}), ends);
        ::close(ends.host_in);
        mess.say("innocent", "answering", pids);
    });
    mess.living_host([&] { // a pool of workers
        for (int i = 0; i < 4; ++i)
            innocent("worker", mess.role("worker"),
                     {.in = holdfast::mess::null_device(), .out = holdfast::mess::null_device()});
    });
    mess.living_host([&] { // as if guarded: the helper of a keeper
        ::prctl(PR_SET_NAME, "holdfast-keep");
        Ends ends = holdfast::mess::pipes();
        innocent("guarded", mess.animal("timer_holder", {"--guarded"}), ends);
        holdfast::mess::close_host_ends(ends);
    });
    mess.dead_host([&] { // a named pipe: anybody may open it again
        std::string fifo = mess.path("fifo");
        if (::mkfifo(fifo.c_str(), 0600) != 0)
            holdfast::mess::give_up("mkfifo");
        Ends ends = holdfast::mess::pipes();
        ends.in = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        innocent("named_pipe", mess.animal("term_ignorer"), ends);
    });
    mess.living_host([&] { // a session leader whose past is unknown
        innocent("pty", mess.animal("pty_child"),
                 {.in = holdfast::mess::null_device(), .out = holdfast::mess::null_device()});
    });
    if (::geteuid() != 0)
        return; // what follows needs privileges to make
    mess.dead_host([&] { innocent("another_users", mess.role("other_user"), holdfast::mess::pipes()); });
    mess.dead_host([&] { // a container's first process
        if (::unshare(CLONE_NEWPID) != 0)
            holdfast::mess::give_up("unshare");
        (void)mess.start(mess.role("worker"), holdfast::mess::pipes()); // calls itself 1
        mess.say("innocent", "container", {holdfast::harness::descendants(::getpid()).at(0).pid});
    });
}

} // namespace

int main(int argc, char** argv) {
    holdfast::mess::play_role(argc, argv);
    if (argc != 3)
        return 64;
    ::close_range(3, ~0U, 0); // whatever leaked into us is no part of the mess
    Mess mess(argv[1], argv[2]);
    ::signal(SIGPIPE, SIG_IGN);
    ::alarm(3600);
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        holdfast::mess::give_up("subreaper");
    orphans(mess);
    doubtful_orphans(mess);
    living_hosts(mess);
    innocents(mess);
    mess.say("ready", "mess", {::getpid()});
    // Collects what it adopted, so that the only zombie is the one that is meant.
    for (;;) {
        siginfo_t info{};
        if (::waitid(P_ALL, 0, &info, WEXITED) != 0)
            ::pause();
    }
}
