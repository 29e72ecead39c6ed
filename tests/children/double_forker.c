/* Forks twice and lets the middle go: the grandchild belongs to whoever adopts orphans. The first process
 * stays, or goes with --leader-exits. With --deaf the grandchild ignores TERM. Reports itself and the
 * grandchild. */
#include "zoo.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    int ends[2];
    if (pipe(ends) != 0)
        zoo_fail("pipe");
    const pid_t middle = zoo_fork();
    if (middle == 0) {
        if (zoo_flag("deaf"))
            signal(SIGTERM, SIG_IGN); /* inherited: it is deaf from its birth on */
        const pid_t grandchild = zoo_fork();
        if (grandchild == 0) {
            close(ends[0]);
            close(ends[1]);
            zoo_idle();
        }
        if (write(ends[1], &grandchild, sizeof grandchild) != sizeof grandchild)
            zoo_fail("write");
        _exit(0);
    }
    pid_t grandchild = 0;
    if (read(ends[0], &grandchild, sizeof grandchild) != sizeof grandchild ||
        waitpid(middle, NULL, 0) != middle)
        zoo_fail("my child did not report"); /* waited for: the grandchild is an orphan when we say ready */
    zoo_ready(1, &grandchild);
    if (zoo_flag("leader-exits"))
        return 0;
    zoo_idle();
}
