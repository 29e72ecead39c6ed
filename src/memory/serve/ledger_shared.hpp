// How the books lie in memory. Internal to the ledger.
#pragma once

#include "memory/serve/ledger.hpp"

namespace holdfast::memory {

inline constexpr std::size_t read_chunk = std::size_t{64} << 10;
inline constexpr std::size_t buffer_bytes = 2 * Ledger::most_line + 4 * read_chunk;
inline constexpr std::uint32_t compact_after = 256 << 10;
inline constexpr std::uint32_t give_back_above = 512 << 10;
inline constexpr std::uint32_t slot_count = 64 * 1024;

// Where the input stands, in one word, so that one store moves all of it.
struct InputWord {
    static constexpr std::uint64_t position_mask = (std::uint64_t{1} << 26) - 1;
    static constexpr std::uint32_t line_mask = (1U << 11) - 1;
    static_assert(buffer_bytes <= position_mask);

    std::uint32_t head = 0;
    std::uint32_t tail = 0;
    std::uint32_t line = 0; // counts lines, so that a half-made note can be told from a made one
    bool skipping = false;  // inside a line over the limit

    explicit InputWord(std::uint64_t word) noexcept
        : head(static_cast<std::uint32_t>(word & position_mask))
        , tail(static_cast<std::uint32_t>((word >> 26) & position_mask))
        , line(static_cast<std::uint32_t>((word >> 52) & line_mask))
        , skipping((word >> 63) != 0) {}
    [[nodiscard]] std::uint64_t word() const noexcept {
        return std::uint64_t{head} | (std::uint64_t{tail} << 26) | (std::uint64_t{line} << 52) |
               (std::uint64_t{skipping ? 1U : 0U} << 63);
    }
};

struct Ledger::Shared {
    static constexpr std::uint32_t current_version = 1;
    std::atomic<std::uint32_t> version;
    std::atomic<std::uint32_t> read_limit; // a read into [tail, read_limit) may be under way; 0: none
    std::atomic<std::uint64_t> input;      // an InputWord
    std::atomic<std::uint32_t> opening;    // slot + 1 of a request whose line is about to be marked as read
    std::atomic<std::uint32_t> slots_used;
    std::atomic<std::uint64_t> remembered; // which of the two notes counts (bit 32), and its length
    std::atomic<std::uint64_t> out_end;    // of what is staged in the outbox
};

// A request in flight. A long id runs on into the slots that follow.
struct Ledger::Slot {
    std::atomic<std::uint32_t> length; // of the id; 0: free
    std::uint32_t line;
    std::atomic<std::uint64_t> answer_at; // where its answer begins in the outbox, plus 1; 0: none yet
    char id[48];
};

inline constexpr std::size_t slot_bytes = 64;
inline constexpr std::size_t notes_offset = 4096;
inline constexpr std::size_t slots_offset = notes_offset + 2 * Ledger::max_note;
inline constexpr std::size_t buffer_offset = slots_offset + std::size_t{slot_count} * slot_bytes;
inline constexpr std::size_t ledger_bytes = buffer_offset + buffer_bytes;
static_assert(buffer_offset % 4096 == 0 && give_back_above % 4096 == 0);

constexpr std::uint32_t slots_for(std::uint32_t id_length) noexcept {
    return id_length <= 48 ? 1 : 1 + (id_length - 48 + 63) / 64;
}

} // namespace holdfast::memory
