/* Holds --mb=N (100) megabytes, every page touched. With --grow-ms=N it takes them one by one, one every N
 * ms, and says ready after the first. With --child a child holds them, so that only a look at the whole tree
 * sees it. */
#define _GNU_SOURCE
#include "zoo.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    const pid_t parent = getpid();
    if (zoo_flag("child") && zoo_fork() != 0)
        zoo_idle();
    const long megabytes = zoo_number("mb", 100);
    const long grow_ms = zoo_number("grow-ms", 0);
    for (long i = 0; i < megabytes; ++i) {
        char* piece = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (piece == MAP_FAILED)
            zoo_fail("mmap");
        memset(piece, (int)(i % 251 + 1), 1 << 20); /* not zero, and not the same: nothing to merge or skip */
        if (grow_ms > 0 && i == 0)
            zoo_ready(1, &parent);
        if (grow_ms > 0)
            zoo_sleep_ms(grow_ms);
    }
    if (grow_ms <= 0 || megabytes <= 0)
        zoo_ready(1, &parent);
    zoo_idle();
}
