/* A daemon by the book: fork, setsid, fork, / as its folder, no descriptor of its starter's. The first
 * process stays, or goes with --leader-exits. Reports itself and the daemon. */
#define _GNU_SOURCE
#include "zoo.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        zoo_fail("pipe");
    const pid_t middle = zoo_fork();
    if (middle == 0) {
        if (setsid() < 0)
            zoo_fail("setsid");
        const pid_t daemon = zoo_fork();
        if (daemon != 0)
            _exit(0);
        if (chdir("/") != 0)
            zoo_fail("chdir");
        const int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; ++fd)
            dup2(null, fd);
        const pid_t self = getpid();
        if (write(ends[1], &self, sizeof self) != sizeof self)
            zoo_fail("write");
        close_range(3, ~0U, 0);
        zoo_idle();
    }
    pid_t daemon = 0;
    if (read(ends[0], &daemon, sizeof daemon) != sizeof daemon || waitpid(middle, NULL, 0) != middle)
        zoo_fail("the daemon did not report");
    zoo_ready(1, &daemon);
    if (zoo_flag("leader-exits"))
        return 0;
    zoo_idle();
}
