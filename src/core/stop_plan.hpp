// How a helper's tree is ended, as data: what is done, and how long each step is given before the next.
#pragma once

#include "base/duration.hpp"
#include "holdfast/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::core {

enum class StopAction {
    end_of_input, // stdin is closed (by the host); give the helper time to see it
    terminate,    // TERM, then CONT, to the whole tree
    kill,         // KILL to the whole tree, until nothing is left
};

struct StopStage {
    StopAction action = StopAction::kill;
    base::Millis wait{0}; // how long until the next stage; of no meaning for kill, which is the last
    bool operator==(const StopStage&) const = default;
};

struct StopPlan {
    std::vector<StopStage> stages; // never empty; kill is the last and only the last
    bool operator==(const StopPlan&) const = default;
};

// The default time from TERM to KILL, of a kept helper and of everything else that is ended. The default plan
// waits as long for the end of input.
inline constexpr base::Millis default_grace{2000};

// The plan of the MCP specification: close stdin, 2 s, TERM, 2 s, KILL.
StopPlan default_stop_plan();

// "mcp", "now", or stages in order: "eof:2s,term:5s,kill". Each at most once; kill is added when missing.
Result<StopPlan> parse_stop_plan(std::string_view text);
std::string to_text(const StopPlan& plan);

// Why a tree is being ended. The reason decides where in the plan to start.
enum class StopReason {
    input_closed,  // the host closed the helper's stdin
    host_gone,     // the host process ended
    front_gone,    // the process in front was killed
    keeper_gone,   // the keeper was killed
    asked,         // by a signal or by `holdfast stop`
    asked_now,     // at once
    command_ended, // the command itself ended; what it started remains
    idle,
    max_life,
    memory,
    slot_lost,
    output_closed, // nobody reads the terminal that the helper was given
};
std::string_view name_of(StopReason reason) noexcept;
std::optional<StopReason> stop_reason_named(std::string_view name) noexcept;

// Where to start in the plan. Only a host that let go of stdin has given the helper an end of input to see.
std::size_t first_stage(const StopPlan& plan, StopReason reason) noexcept;

// The stop as a machine. Pure: the caller carries the action out and calls back when time has passed.
class StopMachine {
public:
    explicit StopMachine(StopPlan plan)
        : plan_(std::move(plan)) {}
    [[nodiscard]] bool running() const noexcept { return stage_.has_value(); }
    [[nodiscard]] std::optional<StopReason> reason() const noexcept { return reason_; }
    // Begins, or hurries: a later reason never goes back in the plan. Returns the action to carry out now, if
    // any.
    std::optional<StopAction> begin(StopReason reason, std::int64_t now);
    // Called when `due()` has passed: the next action.
    std::optional<StopAction> advance(std::int64_t now);
    // The present stage gets its whole time again (the helper is still reading what was written to it).
    void extend(std::int64_t now);
    [[nodiscard]] std::optional<std::int64_t> due() const noexcept { return due_; }
    [[nodiscard]] std::optional<StopAction> action() const noexcept;

private:
    std::optional<StopAction> enter(std::size_t stage, std::int64_t now);
    StopPlan plan_;
    std::optional<std::size_t> stage_;
    std::optional<StopReason> reason_;
    std::optional<std::int64_t> due_;
};

} // namespace holdfast::core
