// What no animal of the zoo does: helpers that are reachable by other ways than stdio, and one that leaves an
// heir.
#include "mess.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace holdfast::mess {

namespace {

void say_ready() {
    std::string report = std::getenv("ZOO_REPORT");
    std::string temporary = report + ".tmp";
    std::string line = "ready " + std::to_string(::getpid()) + "\n";
    int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (::write(fd, line.data(), line.size()) < 0)
        give_up("ready");
    ::close(fd);
    ::rename(temporary.c_str(), report.c_str());
}

void listen_on_a_unix_socket() {
    int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX; // no path: the kernel picks an abstract name
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0 || ::listen(fd, 5) != 0)
        give_up("listen");
}

void listen_on_a_port() {
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK); // port 0: the kernel picks one
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 5) != 0)
        give_up("listen");
}

// On TERM it starts one more and goes: the child is adopted by somebody else at once.
void leave_an_heir(int) {
    if (::fork() == 0) {
        std::signal(SIGTERM, SIG_IGN);
        ::alarm(3600);
        for (;;)
            ::pause();
    }
    ::_exit(0);
}

} // namespace

void play_role(int argc, char** argv) {
    std::string_view role;
    for (int i = 1; i < argc; ++i)
        if (std::string_view word = argv[i]; word.starts_with("--role="))
            role = word.substr(7);
    if (role.empty())
        return;
    ::alarm(3600);
    if (role == "unix_listener")
        listen_on_a_unix_socket();
    else if (role == "tcp_listener")
        listen_on_a_port();
    else if (role == "heir_leaver")
        std::signal(SIGTERM, leave_an_heir);
    else if (role != "worker" && role != "other_user")
        ::_exit(72);
    say_ready();
    if (role == "other_user" && ::setresuid(65534, 65534, 65534) != 0) // last: it could not report after it
        give_up("setresuid");
    for (;;)
        ::pause();
}

} // namespace holdfast::mess
