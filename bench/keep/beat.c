/* Appends the time at which it began, "<monotonic ns> <pid>", to the file named by its first argument, and
 * then waits. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    char line[64];
    const int length = snprintf(line, sizeof line, "%lld %d\n",
                                (long long)now.tv_sec * 1000000000 + now.tv_nsec, (int)getpid());
    const int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        return 70;
    close(fd);
    for (;;)
        pause();
}
