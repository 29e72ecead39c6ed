// The plain values of the public API: what is known of a slot, and the words for it. They have no behaviour,
// so every part of Holdfast may use them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

using Millis = std::chrono::milliseconds;

// Where a slot lives. A slot that guards data lives beside that data, so that nothing can go around it.
struct SlotLocation {
    std::string directory; // must exist, on a local file system
    std::string name;      // 1 to 100 letters, digits, '.', '-', '_'; neither '.' nor '-' in front
};

enum class SlotState { free, owned, orphaned };
enum class Phase { starting, ready, draining };

// A process that holds a slot's life although the slot's owner is dead.
struct Leftover {
    int pid = 0;
    std::string command;
};

// What is known of a slot at one moment. `state` and `owner_pid` come from the kernel; all that stands in
// `record` is what the owner (or the last one, when record_is_current is false) said of itself.
struct SlotInfo {
    std::string name;
    SlotState state = SlotState::free;
    int owner_pid = 0; // 0 unless owned by a process that this process can see
    bool owner_in_other_namespace = false;
    bool owner_stopped = false;      // by a signal (state T): it does nothing until it is continued
    std::uint64_t epoch = 0;         // of the current owner, or of the last one
    std::vector<Leftover> leftovers; // filled in when orphaned

    bool has_record = false;
    bool record_is_current = false; // the record was written by the present owner
    Phase phase = Phase::starting;
    std::string status; // free text of the owner
    std::uint64_t progress_done = 0;
    std::uint64_t progress_total = 0; // 0 where the owner does not know
    Millis progress_age{0};           // since progress last moved
    Millis age{0};                    // since this ownership began
    std::int64_t since_unix_ms = 0;
    std::vector<std::string> argv;
    std::string address;
    std::string version;
    std::string session;
};

enum class IfHeld { refuse, wait, replace, attach };

// Limits that are stated in messages and in the documentation.
inline constexpr int max_takeovers = 5;
inline constexpr Millis takeover_window{60'000};
inline constexpr Millis max_patience_request{
    3'600'000}; // extend_patience() beyond an hour ahead is not believed

// Stable names: "free", "owned", "orphaned"; "starting", "ready", "draining".
std::string_view name_of(SlotState state) noexcept;
std::string_view name_of(Phase phase) noexcept;

} // namespace holdfast
