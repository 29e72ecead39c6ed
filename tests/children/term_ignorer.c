/* Ignores every signal that asks politely. */
#include "zoo.h"

#include <stddef.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    const int polite[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};
    for (unsigned i = 0; i < sizeof polite / sizeof *polite; ++i)
        signal(polite[i], SIG_IGN);
    zoo_ready(0, NULL);
    zoo_idle();
}
