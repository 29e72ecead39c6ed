/* slow_disk MS PROGRAM WORD...: becomes PROGRAM, on a disk that is slow. Reading a write-ahead log (a file
 * whose name ends in "-wal") from its beginning to its end takes MS milliseconds, evenly over its bytes;
 * everything else takes as long as ever. PROGRAM is the one that is shipped, has the caller's PID, and knows
 * nothing of this: the kernel asks a second process before each pread64 (seccomp, user notification), and
 * that one takes its time. It ends with PROGRAM. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_MACHINE AUDIT_ARCH_AARCH64
#else
#error "slow_disk does not know this machine"
#endif

static _Noreturn void fail(const char* what) {
    fprintf(stderr, "slow_disk: %s: %s\n", what, strerror(errno));
    _exit(70);
}

static void send_descriptor(int to, int descriptor) {
    char byte = 'l';
    struct iovec part = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    if (sendmsg(to, &message, 0) != 1)
        fail("hand the listener over");
}

static int receive_descriptor(int from) {
    char byte = 0;
    struct iovec part = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int descriptor = -1;
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1 || CMSG_FIRSTHDR(&message) == NULL)
        _exit(0); /* the other one failed, and has said so */
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    return descriptor;
}

/* The bytes of the log behind a descriptor of that process; 0: it is no log. */
static long long log_size(unsigned pid, unsigned long long descriptor) {
    char link[64];
    char path[PATH_MAX];
    struct stat info;
    snprintf(link, sizeof link, "/proc/%u/fd/%llu", pid, descriptor);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 4 || memcmp(path + length - 4, "-wal", 4) != 0 || stat(link, &info) != 0)
        return 0;
    return info.st_size;
}

static void wait_until(const struct timespec* start, double after_ms) {
    struct timespec moment = *start;
    const long long ns = (long long)(after_ms * 1e6) + moment.tv_nsec;
    moment.tv_sec += (time_t)(ns / 1000000000);
    moment.tv_nsec = (long)(ns % 1000000000);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) == EINTR) {
    }
}

/* Answers the kernel until nobody is left who could ask. */
static _Noreturn void be_the_disk(int listener, double whole_ms) {
    struct timespec start = {0, 0};
    long long size = 0;
    for (;;) {
        struct pollfd ready = {listener, POLLIN, 0};
        if (poll(&ready, 1, -1) < 0 && errno != EINTR)
            _exit(70);
        if ((ready.revents & POLLIN) == 0) {
            if (ready.revents != 0)
                _exit(0);
            continue;
        }
        struct seccomp_notif asked;
        memset(&asked, 0, sizeof asked);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
            continue; /* it died, or was interrupted, meanwhile */
        const long long now_size = log_size(asked.pid, asked.data.args[0]);
        if (now_size > 0) {
            if (size == 0) { /* the first read of a log: the clock runs from here, over what it holds now */
                size = now_size;
                clock_gettime(CLOCK_MONOTONIC, &start);
            }
            const long long end = (long long)(asked.data.args[3] + asked.data.args[2]);
            wait_until(&start, whole_ms * (double)(end < size ? end : size) / (double)size);
        }
        struct seccomp_notif_resp answer = {
            .id = asked.id, .val = 0, .error = 0, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

static int listen_to_own_reads(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_MACHINE, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof program / sizeof program[0], program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail("give up new privileges");
    const long listener =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
    if (listener < 0)
        fail("ask the kernel to ask");
    return (int)listener;
}

int main(int argc, char** argv) {
    if (argc < 3) {
        fputs("usage: slow_disk MS PROGRAM WORD...\n", stderr);
        return 64;
    }
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        fail("make a pair of sockets");
    const pid_t between = fork();
    if (between < 0)
        fail("fork");
    if (between == 0) {
        /* Once more, so that PROGRAM has no child that it did not make. */
        if (fork() != 0)
            _exit(0);
        setsid();
        close(pair[1]);
        const int listener = receive_descriptor(pair[0]);
        for (int descriptor = 0; descriptor < 1024; ++descriptor)
            if (descriptor != listener)
                close(descriptor); /* what is PROGRAM's must end with PROGRAM: pipes above all */
        be_the_disk(listener, atof(argv[1]));
    }
    waitpid(between, NULL, 0);
    close(pair[0]);
    const int listener = listen_to_own_reads();
    send_descriptor(pair[1], listener);
    close(listener);
    close(pair[1]);
    execv(argv[2], argv + 2);
    fail(argv[2]);
}
