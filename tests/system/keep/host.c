/* The host of a helper, as an editor or an agent is one: it starts a command with a pipe on stdin and holds
 * the other end. Says "child <pid>", then does what it reads from its own stdin, a letter at a time: c  close
 * the helper's stdin          s  only say that nothing more will be written (socket: SHUT_WR) w  write 4096
 * bytes to it            e  exit with 0 r  wait for the child and say "status <code or 128+signal>" The end
 * of its own stdin means nothing to it. Options before the command:
 *   --socket   a socket pair instead of a pipe, as node gives its children
 *   --thread   start the command from a thread that then ends; says "thread gone" after it has
 *   --null     /dev/null on the helper's stdin */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char** command;
static int ends[2] = {-1, -1}; /* the helper's, ours */
static pid_t child;

static void say(const char* word, int number) {
    char line[64];
    const int length = snprintf(line, sizeof line, "%s %d\n", word, number);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(70);
}

static void* start(void* unused) {
    child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        execvp(command[0], command);
        _exit(127);
    }
    return unused;
}

static void start_from_a_thread_that_ends(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, start, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(70);
}

static void say_status(void) {
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        _exit(70);
    say("status", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char** argv) {
    bool socket = false, thread = false, null = false;
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0 && argv[at][2] != '\0'; ++at) {
        socket |= strcmp(argv[at], "--socket") == 0;
        thread |= strcmp(argv[at], "--thread") == 0;
        null |= strcmp(argv[at], "--null") == 0;
    }
    command = argv + at + 1; /* after "--" */
    if (at + 1 >= argc)
        return 64;
    signal(SIGPIPE, SIG_IGN);
    if (null)
        ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    else if ((socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC)) !=
             0)
        return 70;
    if (thread)
        start_from_a_thread_that_ends();
    else
        start(NULL);
    close(ends[0]);
    say("child", (int)child);
    if (thread)
        say("thread gone", 0);
    static const char block[4096];
    for (;;) {
        char letter = 0;
        if (read(STDIN_FILENO, &letter, 1) != 1)
            pause();
        switch (letter) {
        case 'c':
            close(ends[1]);
            break;
        case 's':
            shutdown(ends[1], SHUT_WR);
            break;
        case 'w':
            if (write(ends[1], block, sizeof block) < 0)
                say("broken pipe", 0);
            break;
        case 'r':
            say_status();
            break;
        case 'e':
            return 0;
        default:
            break;
        }
    }
}
