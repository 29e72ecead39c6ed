// The event log: what happened to helpers and slots, one JSON object a line, appended whole, bounded and
// rotated.
#pragma once

#include "holdfast/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::registry {

inline constexpr std::uint64_t max_events_bytes = std::uint64_t{4}
                                                  << 20; // of events.jsonl; events.1.jsonl is the one before

struct Event {
    std::int64_t unix_ms = 0;
    std::string type; // spawned, ready, exited, killed, respawned, gave-up, adopted, refused, stopping,
                      // reaped, registered
    std::string id;
    std::string label;
    int pid = 0;
    std::string reason;
    std::optional<int> status;
};

std::string to_json_line(const Event& event);
std::optional<Event> event_from_line(std::string_view line);

class EventLog {
public:
    explicit EventLog(std::string state_directory)
        : directory_(std::move(state_directory)) {}
    // Never fails loudly: a full disk must not keep a helper from starting or ending.
    void append(Event event) const;
    // Whether what is there may be read at all; what is not there may be. Errors: not_permitted, io.
    [[nodiscard]] Result<void> check_readable() const;
    // All that is there, oldest first. `seen`: how much of the present file that was, in whole lines.
    [[nodiscard]] std::vector<Event> read(std::uint64_t* seen = nullptr) const;
    [[nodiscard]] std::string path() const { return directory_ + "/events.jsonl"; }
    [[nodiscard]] const std::string& directory() const noexcept { return directory_; }

private:
    std::string directory_;
};

} // namespace holdfast::registry
