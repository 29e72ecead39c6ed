#include "memory/ids/ids.hpp"

#include "base/utf8.hpp"
#include "memory/text/letters.hpp"
#include "sys/random.hpp"

#include <chrono>
#include <mutex>
#include <span>

namespace holdfast::memory {

namespace {

std::uint64_t random_bits() {
    // One system call for 32 ids. Refilled from the kernel, so that a forked copy cannot repeat them for
    // long.
    static std::mutex mutex;
    static std::uint64_t pool[32];
    static std::size_t left = 0;
    const std::lock_guard lock(mutex);
    if (left == 0) {
        sys::fill_random(std::as_writable_bytes(std::span(pool)));
        left = 32;
    }
    return pool[--left];
}

void append(std::string& out, std::uint64_t value, int digits) {
    for (int digit = digits - 1; digit >= 0; --digit)
        out += id_alphabet[(value >> (5 * digit)) & 31];
}

} // namespace

std::string make_id(std::string_view prefix) {
    std::string id(prefix);
    id.reserve(prefix.size() + 22);
    append(id, static_cast<std::uint64_t>(now_ms()), 10);
    append(id, random_bits(), 12);
    return id;
}

bool is_sound_id(std::string_view id) noexcept {
    constexpr std::string_view signs = "-_.:/@+=#~";
    for (std::size_t at = 0; at < id.size();) {
        const auto code = base::decode_utf8(id, at);
        const bool ascii = code < 0x80;
        if (ascii ? script_of(code) == Script::none && signs.find(static_cast<char>(code)) == signs.npos
                  : code == 0xfffd || script_of(code) == Script::none)
            return false;
    }
    return !id.empty() && id.size() <= 200;
}

std::int64_t now_ms() noexcept {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::int64_t monotonic_ms() noexcept {
    return monotonic_us() / 1000;
}

std::int64_t monotonic_us() noexcept {
    using namespace std::chrono;
    return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

} // namespace holdfast::memory
