#include "keep/out_buffer.hpp"

#include "sys/clock.hpp"

namespace holdfast::keep {

OutBuffer::OutBuffer(sys::NonBlockingOut out, std::size_t limit)
    : out_(std::move(out))
    , limit_(limit) {}

void OutBuffer::put(std::string_view bytes) {
    if (closed() || bytes.empty())
        return;
    if (empty()) {
        // Mostly it is taken at once, and never copied.
        moved_at_ = sys::boottime_ms();
        bytes.remove_prefix(out_.write(bytes.data(), bytes.size()));
        if (closed())
            return;
        bytes_.clear();
        taken_ = 0;
    } else if (taken_ > limit_ / 2) {
        bytes_.erase(0, taken_);
        taken_ = 0;
    }
    bytes_.append(bytes);
}

void OutBuffer::flush() {
    while (!empty()) {
        const std::size_t n = out_.write(bytes_.data() + taken_, waiting());
        if (closed()) {
            bytes_.clear();
            taken_ = 0;
            return;
        }
        if (n == 0)
            return;
        taken_ += n;
        moved_at_ = sys::boottime_ms();
    }
    bytes_.clear();
    taken_ = 0;
}

} // namespace holdfast::keep
