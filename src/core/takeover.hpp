// Under replace: may this owner be asked to leave? Pure judgement over what was seen of it.
#pragma once

#include "base/record.hpp"
#include "core/slot_protocol.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::core {

// What a contender knows of an owner when it looks.
struct OwnerSight {
    std::uint64_t epoch = 0;            // from the lock file
    int pid = 0;                        // from the kernel; 0: in another PID namespace
    bool is_self = false;               // this very process
    std::optional<base::Record> record; // as read, of whatever epoch
};

// What the contender remembers between looks.
struct TakeoverMemory {
    std::optional<std::uint64_t> meant_epoch; // the epoch it set out to replace; set by the first look
    std::optional<std::uint64_t>
        last_done;                // progress at the last look, to see movement without trusting stamps
    std::int64_t still_since = 0; // boot time in ms since when no movement was seen by us
};

struct TakeoverJudgement {
    Seen seen = Seen::owner_patient;
    std::optional<std::int64_t> look_again_at; // boot time in ms when standing still becomes a stall
    bool too_many = false;
};

// Judges, and updates the memory. `now` and all stamps are boot time in ms; `stall_ms` is the patience.
TakeoverJudgement judge_takeover(const OwnerSight& owner, TakeoverMemory& memory, std::int64_t now,
                                 std::int64_t stall_ms);

// The takeovers of a record that still count at `now`, newest last.
std::vector<std::int64_t> recent_takeovers(const base::Record& record, std::int64_t now);

} // namespace holdfast::core
