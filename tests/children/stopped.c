/* Stops itself. With --ignore-term it would not leave on TERM even when continued. Its readiness is said just
 * before the stop: wait for state T. */
#include "zoo.h"

#include <stddef.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    if (zoo_flag("ignore-term"))
        signal(SIGTERM, SIG_IGN);
    zoo_ready(0, NULL);
    raise(SIGSTOP);
    zoo_idle();
}
