/* Says every signal that reaches it, "signal <number> <how many so far>", one line each on stdout, and lives
 * on. Signals are taken one at a time from a queue, so two that come one after the other are two.
 *   --values   adds " value <n>" to what was sent with a value (sigqueue) */
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
        siginfo_t info;
        const int number = sigwaitinfo(&all, &info);
        if (number < 0)
            zoo_fail("sigwaitinfo");
        printf("signal %d %d", number, count);
        if (zoo_flag("values") && info.si_code == SI_QUEUE)
            printf(" value %d", info.si_value.sival_int);
        printf("\n");
        fflush(stdout);
    }
}
