/* Says every signal that reaches it, "signal <number> <how many so far>", one line each on stdout, and lives
 * on. Signals are taken one at a time from a queue, so two that come one after the other are two. */
#include "zoo.h"

#include <stdio.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGABRT);
    sigprocmask(SIG_BLOCK, &all, NULL);
    zoo_ready(0, NULL);
    for (int count = 1;; ++count) {
        int number = 0;
        if (sigwait(&all, &number) != 0)
            zoo_fail("sigwait");
        printf("signal %d %d\n", number, count);
        fflush(stdout);
    }
}
