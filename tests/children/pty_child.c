/* Holds a terminal: opens a pair and runs a child as the leader of a session on it, which itself has a child
 * in a background group that ignores HUP. Reports itself, the session leader and the background child. */
#define _GNU_SOURCE
#include "zoo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        zoo_fail("cannot open a terminal");
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        zoo_fail("pipe");
    const pid_t leader = zoo_fork();
    if (leader == 0) {
        if (setsid() < 0)
            zoo_fail("setsid");
        const int side = open(ptsname(terminal), O_RDWR);
        if (side < 0 || ioctl(side, TIOCSCTTY, 0) != 0)
            zoo_fail("no controlling terminal");
        close(terminal); /* only the animal holds that end: its death hangs up */
        for (int fd = 0; fd < 3; ++fd)
            dup2(side, fd);
        const pid_t background = zoo_fork();
        if (background == 0) {
            setpgid(0, 0);
            signal(SIGHUP, SIG_IGN);
            const pid_t self = getpid();
            if (write(ends[1], &self, sizeof self) != sizeof self)
                zoo_fail("write");
            zoo_idle();
        }
        zoo_idle();
    }
    pid_t pids[2] = {leader, 0};
    if (read(ends[0], &pids[1], sizeof pids[1]) != sizeof pids[1])
        zoo_fail("the background child did not report");
    zoo_ready(2, pids);
    zoo_idle();
}
