/* Uses a processor without pause, for --seconds=N (10) of processor time at most, then idles. */
#include "zoo.h"

#include <stddef.h>
#include <time.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    const long seconds = zoo_number("seconds", 10);
    zoo_ready(0, NULL);
    for (volatile unsigned long turns = 0; clock() / CLOCKS_PER_SEC < seconds;)
        for (int i = 0; i < 100000; ++i)
            ++turns;
    zoo_idle();
}
