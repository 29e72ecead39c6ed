// Stopping many at once: all are asked first, so that many take no longer than the slowest.
#pragma once

#include "holdfast/slot.hpp"

#include <csignal>
#include <cstdint>
#include <optional>

namespace holdfast::slot {

class Stopping {
public:
    // Asks whoever has the slot in `how.epoch` to leave, by `ask_signal` and CONT, and waits for nothing: the
    // owner, or what a dead one left behind (TERM). Inside the door, like every signal to an owner: one that
    // lives on lets go of its slot inside it too, and must not hear of it after. Whom it cannot ask at once,
    // finish() asks. No descriptor stays open, however many there are.
    Stopping(SlotLocation location, StopOptions how, int ask_signal = SIGTERM);

    // As stop_slot(). The owner's grace runs from when it was asked.
    Result<Stopped> finish();

private:
    SlotLocation location_;
    StopOptions how_;
    std::optional<std::int64_t> asked_at_; // boot time in ms
};

} // namespace holdfast::slot
