/* The mover: each generation forks the next, in a session of its own, and exits. There is one process at a
 * time and it never has the same number twice in a row. Bounded: --most=N generations (20000), --seconds=N
 * (20),
 * --pace-us=N a generation lives (1000). The starter stays, or goes with --leader-exits. With --track=PATH
 * the pid of the living generation and its number stand in that file as two ints. Reports the starter and the
 * first. */
#define _GNU_SOURCE
#include "zoo.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { limit_generations = 20000 };

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    long most = zoo_number("most", limit_generations);
    if (most < 1 || most > limit_generations)
        most = limit_generations;
    const long seconds = zoo_number("seconds", 20);
    const time_t end = now() + (seconds < 1 || seconds > 20 ? 20 : seconds);
    const long pace = zoo_number("pace-us", 1000);
    const char* path = zoo_text("track", NULL);
    const int track = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (path != NULL && track < 0)
        zoo_fail(path);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        zoo_fail("pipe");
    const pid_t first = zoo_fork();
    if (first == 0) {
        char go;
        close(ends[1]);
        if (read(ends[0], &go, 1) != 0) /* the starter closes its end when it has said ready */
            zoo_fail("read");
        for (long generation = 1; generation < most && now() < end; ++generation) {
            setsid();
            const int here[2] = {(int)getpid(), (int)generation};
            if (track >= 0 && pwrite(track, here, sizeof here, 0) != sizeof here)
                zoo_fail("write to the track");
            const struct timespec rest = {pace / 1000000, pace % 1000000 * 1000};
            nanosleep(&rest, NULL);
            if (zoo_fork() != 0)
                _exit(0);
        }
        _exit(0);
    }
    zoo_ready(1, &first);
    close(ends[1]);
    close(ends[0]);
    waitpid(first, NULL, 0);
    if (zoo_flag("leader-exits"))
        return 0;
    zoo_idle();
}
