/* A storm in one process group: every member forks another whenever there is room, and dies young. Whoever
 * kills them one by one, always meets new ones. Bounded: --most=N forks in all (20000), --alive=N at a time
 * (50, never over 200), --rate=N a second (1000; where orphans are reaped late they pile up as zombies),
 * --seconds=N (20); then it ends by itself. Reports itself and one member. */
#define _GNU_SOURCE
#include "zoo.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { limit_alive = 200, limit_forks = 20000 };

struct storm {
    atomic_long forks;
    atomic_int seat[limit_alive]; /* pid of the member who sits there; 0 free; -1 being taken */
};
static struct storm* storm;
static long most_forks;
static int seats;
static long rate;
static long begin_ms;
static long end_ms;

static long now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* How many forks there may have been by now. */
static long allowed_forks(void) {
    const long by_rate = seats + (now_ms() - begin_ms) * rate / 1000;
    return by_rate < most_forks ? by_rate : most_forks;
}

/* A free seat, or that of a member who was killed; -1 when all are taken. A seat whose taker dies between
 * taking and forking is lost: that makes the storm smaller, never larger. */
static int take_seat(void) {
    for (int i = 0; i < seats; ++i) {
        int sitting = atomic_load(&storm->seat[i]);
        const int gone = sitting == 0 || (sitting > 0 && kill(sitting, 0) != 0 && errno == ESRCH);
        if (gone && atomic_compare_exchange_strong(&storm->seat[i], &sitting, -1))
            return i;
    }
    return -1;
}

static pid_t fork_one(void);

static _Noreturn void live(int seat) {
    atomic_store(&storm->seat[seat], (int)getpid());
    for (int i = 0; i < 5; ++i) {
        zoo_sleep_ms(1 + (getpid() + i) % 4);
        fork_one();
    }
    atomic_store(&storm->seat[seat], 0);
    _exit(0);
}

static pid_t fork_one(void) {
    if (now_ms() >= end_ms || atomic_load(&storm->forks) >= allowed_forks())
        return 0;
    const int seat = take_seat();
    if (seat < 0)
        return 0;
    if (atomic_fetch_add(&storm->forks, 1) >= most_forks) {
        atomic_store(&storm->seat[seat], 0);
        return 0;
    }
    const pid_t pid = zoo_fork();
    if (pid == 0)
        live(seat);
    return pid;
}

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    const long alive = zoo_number("alive", 50);
    const long most = zoo_number("most", limit_forks);
    const long seconds = zoo_number("seconds", 20);
    seats = (int)(alive < 1 ? 1 : alive > limit_alive ? limit_alive : alive);
    most_forks = most < 1 || most > limit_forks ? limit_forks : most;
    rate = zoo_number("rate", 1000);
    begin_ms = now_ms();
    end_ms = begin_ms + 1000 * (seconds < 1 || seconds > 20 ? 20 : seconds);
    storm = mmap(NULL, sizeof *storm, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (storm == MAP_FAILED)
        zoo_fail("mmap");
    signal(SIGCHLD, SIG_IGN); /* inherited: nobody leaves a zombie while its parent lives */
    const pid_t first = fork_one();
    zoo_ready(1, &first);
    while (now_ms() < end_ms && atomic_load(&storm->forks) < most_forks) {
        zoo_sleep_ms(2);
        fork_one();
    }
    return 0;
}
