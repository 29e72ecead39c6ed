/* The server that outlives its host: reads stdin to its end, and lives on because a timer ticks. After the
 * end of stdin it writes "eof" to the file --eof-report=PATH, for tests that wait for that. TERM ends it. */
#include "zoo.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const struct itimerspec every = {{0, 100000000}, {0, 100000000}};
    if (timer < 0 || timerfd_settime(timer, 0, &every, NULL) != 0)
        zoo_fail("timerfd");
    zoo_ready(0, NULL);
    char buffer[4096];
    while (read(STDIN_FILENO, buffer, sizeof buffer) > 0) {
    }
    const char* report = zoo_text("eof-report", NULL);
    if (report != NULL) {
        const int fd = open(report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, "eof\n", 4) != 4)
            zoo_fail(report);
        close(fd);
    }
    for (;;) {
        uint64_t ticks = 0;
        if (read(timer, &ticks, sizeof ticks) < 0)
            zoo_fail("read of the timer");
    }
}
