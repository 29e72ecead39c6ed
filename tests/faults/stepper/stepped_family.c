/* A family to be stepped through. By its first argument:
 *   pair FILE   forks a child; both append bytes to FILE ('P' by the parent, 'c' by the child), the parent
 * waits exec FILE   forks a child that executes stepped_writer FILE threads FILE  a second thread writes 't',
 * the first 'm' hang        pauses for ever orphans     forks a child that pauses for ever, and waits for it
 *   stop        stops itself, and exits when it is continued */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int file = -1;

static void put(char letter, int times) {
    for (int i = 0; i < times; ++i)
        if (write(file, &letter, 1) != 1)
            _exit(4);
}

static void* in_thread(void* unused) {
    (void)unused;
    put('t', 3);
    return NULL;
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "hang") == 0) {
        for (;;)
            pause();
    }
    if (strcmp(what, "stop") == 0) {
        raise(SIGSTOP);
        return 5;
    }
    if (strcmp(what, "orphans") == 0) {
        if (fork() == 0)
            for (;;)
                pause();
        wait(NULL);
        return 0;
    }
    if (argc != 3 || (file = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600)) < 0)
        return 2;
    if (strcmp(what, "pair") == 0) {
        put('P', 1);
        pid_t child = fork();
        if (child == 0) {
            put('c', 4);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        put('P', 1);
        return WIFSIGNALED(status) ? 9 : 0;
    }
    if (strcmp(what, "exec") == 0) {
        pid_t child = fork();
        if (child == 0) {
            char path[4096];
            ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
            if (n <= 0)
                _exit(6);
            path[n] = '\0';
            strcpy(strrchr(path, '/') + 1, "stepped_writer");
            execl(path, path, argv[2], (char*)NULL);
            _exit(7);
        }
        wait(NULL);
        return 0;
    }
    if (strcmp(what, "threads") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, in_thread, NULL) != 0)
            return 8;
        pthread_join(thread, NULL);
        put('m', 1);
        return 0;
    }
    return 2;
}
