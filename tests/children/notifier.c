/* Speaks the sd_notify protocol on $NOTIFY_SOCKET: "HOLDFAST_PROGRESS=k" (with STATUS=step k of n) for k = 1
 * to
 * --steps=N (3), --step-ms=N (50) apart, then READY=1; on TERM STOPPING=1, --stop-ms=N (0) later the end.
 * With
 * --stall-at=K nothing more is said after step K. --progress-key=NAME for another name of the number.
 * --extend-usec=N sends EXTEND_TIMEOUT_USEC=N first, --say=TEXT that text after READY=1. Its own "ready" line
 * comes with READY=1, or with the stall. */
#define _GNU_SOURCE
#include "zoo.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void notify(const char* message) {
    const char* path = getenv("NOTIFY_SOCKET");
    if (path == NULL || *path == '\0')
        return;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(path);
    if (length >= sizeof address.sun_path)
        zoo_fail("NOTIFY_SOCKET is too long");
    memcpy(address.sun_path, path, length);
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0'; /* the abstract namespace */
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (fd < 0 || sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr*)&address, size) < 0)
        zoo_fail("cannot notify");
    close(fd);
}

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    const long steps = zoo_number("steps", 3);
    const long stall_at = zoo_number("stall-at", -1);
    const char* key = zoo_text("progress-key", "HOLDFAST_PROGRESS");
    char message[256];
    if (zoo_number("extend-usec", 0) > 0) {
        snprintf(message, sizeof message, "EXTEND_TIMEOUT_USEC=%ld\n", zoo_number("extend-usec", 0));
        notify(message);
    }
    for (long step = 1; step <= steps; ++step) {
        zoo_sleep_ms(zoo_number("step-ms", 50));
        snprintf(message, sizeof message, "%s=%ld\nSTATUS=step %ld of %ld\n", key, step, step, steps);
        notify(message);
        if (step == stall_at) {
            zoo_ready(0, NULL);
            zoo_idle();
        }
    }
    sigprocmask(SIG_BLOCK, &term, NULL); /* from here on TERM is answered; before, it simply ends us */
    notify("READY=1\nSTATUS=ready\n");
    if (*zoo_text("say", "") != '\0')
        notify(zoo_text("say", ""));
    zoo_ready(0, NULL);
    int number = 0;
    sigwait(&term, &number);
    notify("STOPPING=1\n");
    zoo_sleep_ms(zoo_number("stop-ms", 0));
    return 0;
}
