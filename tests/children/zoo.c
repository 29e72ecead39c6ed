#define _GNU_SOURCE
#include "zoo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int arg_count;
static char** args;
static struct timespec
    end_of_life; /* absolute, so that a whole tree ends together, however late it was forked */

_Noreturn void zoo_fail(const char* what) {
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
    _exit(70);
}

const char* zoo_text(const char* name, const char* otherwise) {
    const size_t length = strlen(name);
    for (int i = 1; i < arg_count; ++i)
        if (strncmp(args[i], "--", 2) == 0 && strncmp(args[i] + 2, name, length) == 0 &&
            args[i][2 + length] == '=')
            return args[i] + 2 + length + 1;
    return otherwise;
}

long zoo_number(const char* name, long otherwise) {
    const char* text = zoo_text(name, NULL);
    return text == NULL ? otherwise : strtol(text, NULL, 10);
}

bool zoo_flag(const char* name) {
    for (int i = 1; i < arg_count; ++i)
        if (strncmp(args[i], "--", 2) == 0 && strcmp(args[i] + 2, name) == 0)
            return true;
    return false;
}

static void start_clock_of_life(void) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL; /* unlike alarm: cannot be ignored or blocked, and ends a stopped process */
    timer_t timer;
    struct itimerspec at;
    memset(&at, 0, sizeof at);
    at.it_value = end_of_life;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, TIMER_ABSTIME, &at, NULL) != 0)
        zoo_fail("cannot bound my life");
}

void zoo_start(int argc, char** argv) {
    arg_count = argc;
    args = argv;
    clock_gettime(CLOCK_MONOTONIC, &end_of_life);
    end_of_life.tv_sec += zoo_number("life", 3600);
    start_clock_of_life();
}

pid_t zoo_fork(void) {
    const pid_t pid = fork();
    if (pid < 0)
        zoo_fail("fork");
    if (pid == 0)
        start_clock_of_life();
    return pid;
}

static void write_all(int fd, const char* text, size_t length) {
    while (length > 0) {
        const ssize_t n = write(fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            zoo_fail("cannot say that I am ready");
        text += n;
        length -= (size_t)n;
    }
}

void zoo_ready(int count, const pid_t* more) {
    char line[1024];
    int length = snprintf(line, sizeof line, "ready %d", (int)getpid());
    for (int i = 0; i < count && length < (int)sizeof line - 16; ++i)
        length += snprintf(line + length, sizeof line - (size_t)length, " %d", (int)more[i]);
    line[length++] = '\n';
    const char* report = zoo_text("report", getenv("ZOO_REPORT"));
    if (report == NULL || *report == '\0') {
        write_all(STDOUT_FILENO, line, (size_t)length);
        return;
    }
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.%d", report, (int)getpid());
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        zoo_fail(temporary);
    write_all(fd, line, (size_t)length);
    close(fd);
    if (rename(temporary, report) != 0)
        zoo_fail(report);
}

_Noreturn void zoo_idle(void) {
    for (;;)
        pause();
}

void zoo_sleep_ms(long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}
