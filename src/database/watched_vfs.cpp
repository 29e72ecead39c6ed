#include "database/watched_vfs.hpp"

#include <fcntl.h>
#include <sqlite3.h>

#include <array>
#include <mutex>

namespace holdfast::database {

namespace {

thread_local WalReadCounter* active = nullptr;
thread_local sys::Fd* captured = nullptr;

// The default VFS fills in the file object and its method table; we only put another table beside it, the
// same but for xRead. The file object keeps its own layout, so every other method works on it unchanged. A
// VFS has a few tables (one per style of locking), hence a small list of them.
struct Patched {
    const sqlite3_io_methods* original = nullptr;
    sqlite3_io_methods table{};
};
std::array<Patched, 8> patched_tables;
std::mutex patched_mutex;

int read_and_count(sqlite3_file* file, void* buffer, int amount, sqlite3_int64 offset) {
    const auto* patched = reinterpret_cast<const Patched*>(reinterpret_cast<const char*>(file->pMethods) -
                                                           offsetof(Patched, table));
    const int code = patched->original->xRead(file, buffer, amount, offset);
    if (active != nullptr)
        active->add(static_cast<std::uint64_t>(amount));
    return code;
}

const sqlite3_io_methods* counting_table(const sqlite3_io_methods* original) {
    const std::lock_guard lock(patched_mutex);
    for (auto& slot : patched_tables) {
        if (slot.original == nullptr) {
            slot.original = original;
            slot.table = *original;
            slot.table.xRead = read_and_count;
        }
        if (slot.original == original)
            return &slot.table;
    }
    return original; // more tables than we know of: uncounted, but right
}

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto* base = static_cast<sqlite3_vfs*>(vfs->pAppData);
    const int code = base->xOpen(base, name, file, flags, out_flags);
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_WAL) != 0) {
        file->pMethods = counting_table(file->pMethods);
        // SQLite does not give its own descriptor away. It keeps no lock on this file, so closing ours does
        // no harm.
        if (captured != nullptr)
            *captured = sys::Fd(::open(name, O_RDONLY | O_CLOEXEC));
    }
    return code;
}

} // namespace

const char* watched_vfs() {
    static sqlite3_vfs vfs;
    static std::once_flag once;
    std::call_once(once, [] {
        sqlite3_vfs* base = sqlite3_vfs_find(nullptr);
        vfs = *base;
        vfs.pNext = nullptr;
        vfs.zName = "holdfast-watched";
        vfs.pAppData = base;
        vfs.xOpen = open_file;
        sqlite3_vfs_register(&vfs, 0);
    });
    return "holdfast-watched";
}

WalReadCounter::WalReadCounter(OnRead on_read, void* context) noexcept
    : on_read_(on_read)
    , context_(context) {
    active = this;
}

WalReadCounter::~WalReadCounter() {
    active = nullptr;
}

LogCapture::LogCapture(sys::Fd& into) noexcept {
    captured = &into;
}

LogCapture::~LogCapture() {
    captured = nullptr;
}

void WalReadCounter::add(std::uint64_t bytes) noexcept {
    bytes_ += bytes;
    on_read_(context_, bytes_);
}

} // namespace holdfast::database
