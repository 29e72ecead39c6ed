#include "slot/forked.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::slot_test {

Forked in_fork(const std::function<std::string()>& body) {
    int ends[2];
    if (::pipe(ends) != 0)
        return {.said = "no pipe", .status = -1};
    pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        ::alarm(3600);
        std::string said = body();
        if (::write(ends[1], said.data(), said.size()) != static_cast<ssize_t>(said.size()))
            ::_exit(1);
        ::_exit(0);
    }
    ::close(ends[1]);
    Forked out;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        out.said.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    ::waitpid(child, &out.status, 0);
    return out;
}

Forked as_nobody(const std::function<std::string()>& body) {
    return in_fork([&body]() -> std::string {
        if (::geteuid() == 0 &&
            (::setresgid(nobody, nobody, nobody) != 0 || ::setresuid(nobody, nobody, nobody) != 0))
            return "cannot become another user";
        return body();
    });
}

} // namespace holdfast::slot_test
