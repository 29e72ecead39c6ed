// The library as a program that can be measured: this build's, or that of another commit.
//   slot-rounds DIRECTORY
// Reads words, one a line, and answers each with one number, in microseconds:
//   acquire N, bare-acquire N    the mean of N rounds: take a slot and release it; open, lock, write, close
//   handover, bare-handover      from the exit of an owner to the ownership of one that waits for it
#include "holdfast/slot.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>

namespace {

using namespace holdfast;

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "slot-rounds: %s\n", why.c_str());
    std::_Exit(70);
}

double now_us() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

struct flock whole_file(short type) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

void acquire_once(const SlotLocation& location) {
    auto got = acquire(location, {.argv = {"bench"}});
    if (!got || !got->ownership)
        give_up("the slot was not free");
    got->ownership->release();
}

void bare_once(const std::string& path) {
    static const std::string text(460, 'x'); // as long as a record
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock lock = whole_file(F_WRLCK);
    if (fd < 0 || ::fcntl(fd, F_OFD_SETLK, &lock) != 0 ||
        ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        give_up("the bare lock failed");
    ::close(fd);
}

double mean(int rounds, const std::function<void()>& once) {
    const double begin = now_us();
    for (int i = 0; i < rounds; ++i)
        once();
    return (now_us() - begin) / rounds;
}

// What two processes tell each other, in shared memory.
struct Board {
    std::atomic<int> owner_there = 0;
    std::atomic<int> waiter_there = 0;
    std::atomic<int> leave = 0;
    double left_at = 0;
    double got_at = 0;
};

void until(const std::atomic<int>& flag) {
    while (flag == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// `own` takes it and returns; `wait_for_it` returns as the next owner.
double handover(const std::function<void()>& own, const std::function<void()>& wait_for_it) {
    void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        give_up("no shared memory");
    Board& board = *new (memory) Board;
    const pid_t owner = ::fork();
    if (owner == 0) {
        own();
        board.owner_there = 1;
        until(board.leave);
        board.left_at = now_us();
        ::_exit(0);
    }
    until(board.owner_there);
    const pid_t waiter = ::fork();
    if (waiter == 0) {
        board.waiter_there = 1;
        wait_for_it();
        board.got_at = now_us();
        ::_exit(0);
    }
    until(board.waiter_there);
    std::this_thread::sleep_for(std::chrono::milliseconds(10)); // it is blocked by now
    board.leave = 1;
    int owned = 0, waited = 0;
    (void)::waitpid(owner, &owned, 0);
    (void)::waitpid(waiter, &waited, 0);
    if (owned != 0 || waited != 0)
        give_up("a hand-over failed");
    const double took = board.got_at - board.left_at;
    ::munmap(memory, sizeof(Board));
    return took;
}

double our_handover(const SlotLocation& location) {
    return handover(
        [&] {
            static auto held = acquire(location, {});
            if (!held || !held->ownership)
                give_up("the slot was not free");
        },
        [&] {
            static auto held = acquire(location, {.if_held = IfHeld::wait});
            if (!held)
                give_up(held.error().message);
        });
}

double bare_handover(const std::string& path) {
    const auto lock = [&](int command) {
        struct flock whole = whole_file(F_WRLCK);
        if (::fcntl(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), command, &whole) != 0)
            give_up("the bare lock failed");
    };
    return handover([&] { lock(F_OFD_SETLK); }, [&] { lock(F_OFD_SETLKW); });
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: slot-rounds DIRECTORY\n");
        return 64;
    }
    const SlotLocation location{.directory = argv[1], .name = "bench"};
    const std::string bare = location.directory + "/bare.lock";
    char word[32];
    int rounds = 1;
    for (char line[64]; std::fgets(line, sizeof line, stdin) != nullptr;) {
        rounds = 1;
        if (std::sscanf(line, "%31s %d", word, &rounds) < 1 || rounds < 1)
            continue;
        const std::string what = word;
        double took = 0;
        if (what == "acquire")
            took = mean(rounds, [&] { acquire_once(location); });
        else if (what == "bare-acquire")
            took = mean(rounds, [&] { bare_once(bare); });
        else if (what == "handover")
            took = our_handover(location);
        else if (what == "bare-handover")
            took = bare_handover(bare);
        else
            give_up("there is no word " + what);
        std::printf("%.3f\n", took);
        std::fflush(stdout);
    }
    return 0;
}
