#include "sys/random.hpp"

#include "base/hex.hpp"

#include <sys/random.h>

#include <array>

namespace holdfast::sys {

void fill_random(std::span<std::byte> out) noexcept {
    // Up to 256 bytes come at once on a kernel of this decade, except before its pool is seeded, when the
    // call waits and a signal may interrupt it.
    while (!out.empty())
        if (const auto n = ::getrandom(out.data(), out.size(), 0); n > 0)
            out = out.subspan(static_cast<std::size_t>(n));
}

std::string random_token() {
    std::array<std::byte, 16> bytes{};
    fill_random(bytes);
    return base::hex_of(bytes);
}

} // namespace holdfast::sys
