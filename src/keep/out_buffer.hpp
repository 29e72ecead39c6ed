// Bytes on their way to somebody who may read slowly or not at all: bounded, and never waited for.
#pragma once

#include "sys/nonblocking_out.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::keep {

class OutBuffer {
public:
    OutBuffer(sys::NonBlockingOut out, std::size_t limit);

    [[nodiscard]] std::size_t room() const noexcept { return limit_ - waiting(); }
    [[nodiscard]] bool empty() const noexcept { return waiting() == 0; }
    [[nodiscard]] std::size_t waiting() const noexcept { return bytes_.size() - taken_; }
    // Nobody reads any more. What is put then is thrown away, and there is always room.
    [[nodiscard]] bool closed() const noexcept { return out_.closed(); }
    // At most room() bytes.
    void put(std::string_view bytes);
    // Writes what is taken now.
    void flush();
    // To poll for POLLOUT: -1 when there is nothing to write.
    [[nodiscard]] int fd() const noexcept { return empty() ? -1 : out_.fd(); }
    // Boot time in ms at which bytes were last taken, or at which the first of those that wait came.
    [[nodiscard]] std::int64_t moved_at() const noexcept { return moved_at_; }

private:
    sys::NonBlockingOut out_;
    std::size_t limit_;
    std::string bytes_;
    std::size_t taken_ = 0; // of the beginning of bytes_
    std::int64_t moved_at_ = 0;
};

} // namespace holdfast::keep
