/* Reads and writes now and then, so that its I/O counters move: --every-ms=N (50), --times=N (-1, for ever);
 * then it is silent and alive. With --child a child does it. With --socket it sends and receives, 20 times a
 * tick, which those counters do not see. Reports itself and the one who ticks. */
#define _GNU_SOURCE
#include "zoo.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static _Noreturn void tick_on_a_socket(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        zoo_fail("socketpair");
    const long times = zoo_number("times", -1);
    for (long i = 0; times < 0 || i < times; ++i) {
        for (int message = 0; message < 20; ++message) {
            char text[64] = {0};
            if (send(ends[0], text, sizeof text, 0) != (ssize_t)sizeof text ||
                recv(ends[1], text, sizeof text, 0) != (ssize_t)sizeof text)
                zoo_fail("socket");
        }
        zoo_sleep_ms(zoo_number("every-ms", 50));
    }
    zoo_idle();
}

static _Noreturn void tick(void) {
    if (zoo_flag("socket"))
        tick_on_a_socket();
    const int file = memfd_create("ticks", MFD_CLOEXEC);
    const long times = zoo_number("times", -1);
    for (long i = 0; times < 0 || i < times; ++i) {
        char byte = 'x';
        if (pwrite(file, &byte, 1, 0) != 1 || pread(file, &byte, 1, 0) != 1)
            zoo_fail("I/O");
        zoo_sleep_ms(zoo_number("every-ms", 50));
    }
    zoo_idle();
}

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    pid_t ticker = getpid();
    if (zoo_flag("child") && (ticker = zoo_fork()) == 0)
        tick();
    zoo_ready(1, &ticker);
    if (ticker != getpid())
        zoo_idle();
    tick();
}
