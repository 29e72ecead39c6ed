// The door of a slot: proof that nobody else can start or clean it now. What may only be done inside takes a
// Door.
#pragma once

#include "sys/lock_file.hpp"

#include <utility>

namespace holdfast::slot {

class Door {
public:
    // The caller holds byte 2 of `lock`, which outlives the Door.
    explicit Door(sys::LockFile& lock) noexcept
        : lock_(&lock) {}
    Door(Door&& other) noexcept
        : lock_(std::exchange(other.lock_, nullptr)) {}
    Door& operator=(Door&& other) noexcept {
        std::swap(lock_, other.lock_);
        return *this;
    }
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;
    ~Door() {
        if (lock_)
            lock_->unlock(sys::LockByte::door);
    }

private:
    sys::LockFile* lock_;
};

} // namespace holdfast::slot
