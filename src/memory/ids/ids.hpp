// Opaque ids: a prefix, the time in milliseconds, and 60 random bits, in an alphabet without look-alikes.
// Ids made later sort later, so the store's id indexes grow at their end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::memory {

inline constexpr std::string_view id_alphabet = "0123456789abcdefghjkmnpqrstvwxyz"; // five bits each

// make_id("tr_") -> "tr_01hq3v7k9m2x5c8r4t6w0z". Safe from any thread.
std::string make_id(std::string_view prefix);

// Whether an id that came from outside may be one of ours: 1 to 200 bytes of letters, digits and - _ . : / @
// + = # ~ or of other languages' letters; no blanks, quotes, brackets or control characters. It is shown in
// prompts and on pages, where those could pass for something else.
bool is_sound_id(std::string_view id) noexcept;
// What a refusal of one says behind the field's name.
inline constexpr std::string_view sound_id_rule =
    " must be letters, digits and - _ . : / @ + = # ~ without blanks, at most 200 bytes";

// Milliseconds since the epoch, from the wall clock: for what people read, never for deciding who is alive.
std::int64_t now_ms() noexcept;

// Milliseconds of the monotonic clock.
std::int64_t monotonic_ms() noexcept;

// Microseconds of the monotonic clock.
std::int64_t monotonic_us() noexcept;

} // namespace holdfast::memory
