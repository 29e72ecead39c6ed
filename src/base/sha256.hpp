// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104). Written here because our programs are static and link no
// cryptographic library, and the proofs of a page's server (core/page_sessions) need nothing else of one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace holdfast::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

class Sha256 {
public:
    Sha256() noexcept;
    void add(std::string_view bytes) noexcept;
    // Ends the message. The object is not to be used after it.
    Sha256Digest digest() noexcept;

private:
    void take_block(const std::uint8_t* block) noexcept;

    std::array<std::uint32_t, 8> state_;
    std::array<std::uint8_t, 64> block_{};
    std::size_t filled_ = 0; // of the block
    std::uint64_t length_ = 0;
};

// Of the parts one after the other.
Sha256Digest hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts) noexcept;

std::string hex(const Sha256Digest& digest);

// Compares in a time that depends on the lengths only.
bool same_secret(std::string_view given, std::string_view secret) noexcept;

} // namespace holdfast::base
