// How far SQLite is with reading a write-ahead log. SQLite recovers a leftover WAL inside its first statement
// and tells nobody; this layer counts the bytes it reads from the "-wal" file while a counter is set.
#pragma once

#include "sys/fd.hpp"

#include <cstdint>

namespace holdfast::database {

// The name to give to Database::open. Registered at the first call; safe from any thread.
const char* watched_vfs();

// While it lives, bytes read from any WAL by this thread are added to `bytes`, and `on_read` is called after
// each read with the context given. One at a time per thread.
class WalReadCounter {
public:
    using OnRead = void (*)(void* context, std::uint64_t bytes);
    WalReadCounter(OnRead on_read, void* context) noexcept;
    ~WalReadCounter();
    WalReadCounter(const WalReadCounter&) = delete;
    WalReadCounter& operator=(const WalReadCounter&) = delete;
    void add(std::uint64_t bytes) noexcept;

private:
    OnRead on_read_;
    void* context_;
    std::uint64_t bytes_ = 0;
};

// While it lives, each WAL that this thread opens is opened a second time, for reading, and the last of these
// descriptors is put into `into`. One at a time per thread.
class LogCapture {
public:
    explicit LogCapture(sys::Fd& into) noexcept;
    ~LogCapture();
    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;
};

} // namespace holdfast::database
