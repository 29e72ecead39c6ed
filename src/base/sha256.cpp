#include "base/sha256.hpp"

#include "base/hex.hpp"

#include <algorithm>
#include <bit>

namespace holdfast::base {

namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::size_t block_size = 64;

std::uint32_t read_word(const std::uint8_t* at) noexcept {
    return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

} // namespace

Sha256::Sha256() noexcept
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {
}

void Sha256::take_block(const std::uint8_t* block) noexcept {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i)
        w[i] = read_word(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const auto low = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
        const auto high = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
        const auto first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
        const auto second =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    const std::array<std::uint32_t, 8> added{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < added.size(); ++i)
        state_[i] += added[i];
}

void Sha256::add(std::string_view bytes) noexcept {
    length_ += bytes.size();
    while (!bytes.empty()) {
        const auto take = std::min(bytes.size(), block_size - filled_);
        std::ranges::copy(bytes.substr(0, take), block_.begin() + static_cast<std::ptrdiff_t>(filled_));
        bytes.remove_prefix(take);
        filled_ += take;
        if (filled_ == block_size) {
            take_block(block_.data());
            filled_ = 0;
        }
    }
}

Sha256Digest Sha256::digest() noexcept {
    const std::uint64_t bits = length_ * 8;
    add(std::string_view("\x80", 1));
    while (filled_ != block_size - 8)
        add(std::string_view("\0", 1));
    for (std::size_t i = 0; i < 8; ++i)
        block_[block_size - 8 + i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
    take_block(block_.data());
    Sha256Digest out;
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return out;
}

Sha256Digest hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts) noexcept {
    const auto text_of = [](const Sha256Digest& digest) {
        return std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
    };
    Sha256Digest short_key{};
    if (key.size() > block_size) {
        Sha256 hash;
        hash.add(key);
        short_key = hash.digest();
        key = text_of(short_key);
    }
    std::array<char, block_size> inner;
    std::array<char, block_size> outer;
    for (std::size_t i = 0; i < block_size; ++i) {
        const unsigned byte = i < key.size() ? static_cast<unsigned char>(key[i]) : 0U;
        inner[i] = static_cast<char>(byte ^ 0x36U);
        outer[i] = static_cast<char>(byte ^ 0x5cU);
    }
    Sha256 first;
    first.add({inner.data(), inner.size()});
    for (const auto part : parts)
        first.add(part);
    const auto digest = first.digest();
    Sha256 second;
    second.add({outer.data(), outer.size()});
    second.add(text_of(digest));
    return second.digest();
}

std::string hex(const Sha256Digest& digest) {
    return hex_of(digest);
}

bool same_secret(std::string_view given, std::string_view secret) noexcept {
    if (given.size() != secret.size())
        return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < secret.size(); ++i)
        difference |= static_cast<unsigned>(given[i] ^ secret[i]) & 0xffU;
    return difference == 0;
}

} // namespace holdfast::base
