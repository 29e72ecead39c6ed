#include "sys/fork_shield.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace holdfast::sys {

namespace {

struct Table {
    std::mutex mutex;
    std::vector<int> fds;
    std::atomic<std::uint64_t> depth{0};
};

Table& table() {
    // Never destroyed: a fork may happen while static objects are being destroyed.
    static Table* const instance = [] {
        auto* made = new Table;
        ::pthread_atfork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); },
                         [] {
                             for (const int fd : table().fds)
                                 ::close(fd);
                             table().fds.clear();
                             table().depth.fetch_add(1);
                             table().mutex.unlock();
                         });
        return made;
    }();
    return *instance;
}

} // namespace

std::uint64_t fork_depth() noexcept {
    return table().depth.load(std::memory_order_relaxed);
}

ForkShield::NoFork::NoFork()
    : lock_(table().mutex) {}

ForkShield::~ForkShield() {
    if (fds_.empty())
        return;
    const std::scoped_lock lock(table().mutex);
    for (const int fd : fds_)
        std::erase(table().fds, fd);
}

void ForkShield::add(int fd, const NoFork&) {
    fds_.push_back(fd);
    table().fds.push_back(fd);
}

void ForkShield::forget(int fd) {
    const std::scoped_lock lock(table().mutex);
    std::erase(fds_, fd);
    std::erase(table().fds, fd);
}

} // namespace holdfast::sys
