// The library beside the same work by hand: open, lock, write, close; and a bare lock waiter.
#include "harness/temp_dir.hpp"
#include "holdfast/slot.hpp"
#include "stage/stage.hpp"
#include "slot/measures.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

namespace holdfast::bench {

namespace {

struct flock whole_file(short type) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

// What two processes tell each other, in shared memory.
struct Board {
    std::atomic<int> owner_there = 0;
    std::atomic<int> waiter_there = 0;
    std::atomic<int> leave = 0;
    double left_at = 0;
    double got_at = 0;
};

[[noreturn]] void end_now() {
    ::_exit(0);
}

// `own` takes it and returns; `wait_for_it` returns as the next owner. From the first one's exit to then, in
// µs.
double handover(const std::function<void()>& own, const std::function<void()>& wait_for_it) {
    void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        give_up("no shared memory");
    Board& board = *new (memory) Board;
    const pid_t owner = ::fork();
    if (owner == 0) {
        own();
        board.owner_there = 1;
        board.owner_there.notify_one();
        while (board.leave == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        board.left_at = now_ms();
        end_now();
    }
    while (board.owner_there == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const pid_t waiter = ::fork();
    if (waiter == 0) {
        board.waiter_there = 1;
        wait_for_it();
        board.got_at = now_ms();
        end_now();
    }
    while (board.waiter_there == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(10)); // it is blocked by now
    board.leave = 1;
    (void)::waitpid(owner, nullptr, 0);
    (void)::waitpid(waiter, nullptr, 0);
    const double took = board.got_at - board.left_at;
    ::munmap(memory, sizeof(Board));
    return took * 1000;
}

} // namespace

void measure_acquire(int rounds) {
    const harness::TempDir directory;
    const SlotLocation location{.directory = directory.path().string(), .name = "bench"};
    const std::string bare = (directory.path() / "bare.lock").string();
    const std::string text(460, 'x'); // as long as a record
    std::vector<double> ours, floor;
    for (int i = 0; i < rounds; ++i) {
        double begin = now_ms();
        auto got = acquire(location, {.argv = {"bench"}});
        if (!got || !got->ownership)
            give_up("the slot was not free");
        got->ownership->release();
        ours.push_back((now_ms() - begin) * 1000);

        begin = now_ms();
        const int fd = ::open(bare.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        struct flock lock = whole_file(F_WRLCK);
        if (fd < 0 || ::fcntl(fd, F_OFD_SETLK, &lock) != 0 ||
            ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
            give_up("the bare lock failed");
        ::close(fd);
        floor.push_back((now_ms() - begin) * 1000);
    }
    row("acquire and release, p50; beside open, lock, write, close", quantile(ours, 0.5),
        quantile(floor, 0.5), "µs", "");
}

void measure_handover(int rounds) {
    const harness::TempDir directory;
    const SlotLocation location{.directory = directory.path().string(), .name = "bench"};
    const std::string bare = (directory.path() / "bare.lock").string();
    std::vector<double> ours, floor;
    for (int i = 0; i < rounds; ++i) {
        ours.push_back(handover(
            [&] {
                static auto held = acquire(location, {});
                if (!held)
                    give_up(held.error().message);
            },
            [&] {
                auto got = acquire(location, {.if_held = IfHeld::wait});
                if (!got)
                    give_up(got.error().message);
                static auto keep = std::move(got);
            }));
        floor.push_back(handover(
            [&] {
                struct flock lock = whole_file(F_WRLCK);
                if (::fcntl(::open(bare.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), F_OFD_SETLK, &lock) !=
                    0)
                    give_up("the bare lock was not free");
            },
            [&] {
                struct flock lock = whole_file(F_WRLCK);
                if (::fcntl(::open(bare.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), F_OFD_SETLKW, &lock) !=
                    0)
                    give_up("the bare waiter failed");
            }));
    }
    row("predecessor's exit to successor's ownership, p50; beside a bare lock waiter", quantile(ours, 0.5),
        quantile(floor, 0.5), "µs", "at most 2x");
    row("the same, p99", quantile(ours, 0.99), quantile(floor, 0.99), "µs", "");
}

} // namespace holdfast::bench
