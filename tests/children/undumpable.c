/* Is not dumpable, as gpg-agent and ssh-agent are: only root may look at its descriptors and its environment,
 * not even its own user may. With --child it has a child like itself. With --orphan the first process is an
 * ordinary one, and stays; the undumpable one is a grandchild that belongs to whoever adopts orphans, in a
 * session of its own with --session. Reports the first process, and the other. */
#define _GNU_SOURCE
#include "zoo.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void hide(void) {
    if (prctl(PR_SET_DUMPABLE, 0) != 0)
        zoo_fail("prctl");
}

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    if (!zoo_flag("orphan")) {
        hide();
        const bool with_child = zoo_flag("child");
        const pid_t child = with_child ? zoo_fork() : 0;
        if (with_child && child == 0)
            zoo_idle();
        zoo_ready(with_child ? 1 : 0, &child);
        zoo_idle();
    }
    int ends[2];
    if (pipe(ends) != 0)
        zoo_fail("pipe");
    const pid_t middle = zoo_fork();
    if (middle == 0) {
        if (zoo_flag("session"))
            setsid();
        if (zoo_fork() != 0)
            _exit(0);
        hide();
        const pid_t self = getpid();
        if (write(ends[1], &self, sizeof self) != sizeof self)
            zoo_fail("write");
        close(ends[0]);
        close(ends[1]);
        zoo_idle();
    }
    pid_t grandchild = 0;
    if (read(ends[0], &grandchild, sizeof grandchild) != sizeof grandchild ||
        waitpid(middle, NULL, 0) != middle)
        zoo_fail("my child did not report");
    zoo_ready(1, &grandchild);
    zoo_idle();
}
