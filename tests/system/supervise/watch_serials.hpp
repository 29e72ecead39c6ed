// Tells the watches of one descriptor number apart. A loop that carries out change() later must not change a
// watch that was begun in between, when the number was closed and given out again.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace holdfast::supervise_test {

class WatchSerials {
public:
    void begin(int fd) {
        const std::scoped_lock lock(mutex_);
        serials_[fd] = ++last_;
    }
    void end(int fd) {
        const std::scoped_lock lock(mutex_);
        serials_.erase(fd);
    }
    // Of the watch that is there now; 0 when there is none. Any thread.
    [[nodiscard]] std::uint64_t now(int fd) const {
        const std::scoped_lock lock(mutex_);
        const auto at = serials_.find(fd);
        return at == serials_.end() ? 0 : at->second;
    }

private:
    mutable std::mutex mutex_;
    std::map<int, std::uint64_t> serials_;
    std::uint64_t last_ = 0;
};

} // namespace holdfast::supervise_test
