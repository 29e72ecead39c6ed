/* Never reaps: its child dies at once and stays a zombie for as long as the parent lives. With
 * --die-after-ms=N the parent goes too, and leaves the zombie to whoever adopts it. Reports itself and the
 * zombie. */
#define _GNU_SOURCE
#include "zoo.h"

#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    const pid_t child = zoo_fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0) /* it is dead, and stays a zombie */
        zoo_fail("waitid");
    zoo_ready(1, &child);
    const long die_after = zoo_number("die-after-ms", -1);
    if (die_after < 0)
        zoo_idle();
    zoo_sleep_ms(die_after);
    return 0;
}
