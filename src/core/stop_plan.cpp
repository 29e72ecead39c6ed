#include "core/stop_plan.hpp"

#include "base/text.hpp"

#include <array>
#include <utility>

namespace holdfast::core {

namespace {

constexpr std::array<std::pair<StopReason, std::string_view>, 12> reason_names{{
    {StopReason::input_closed, "input_closed"},
    {StopReason::host_gone, "host_gone"},
    {StopReason::front_gone, "front_gone"},
    {StopReason::keeper_gone, "keeper_gone"},
    {StopReason::asked, "asked"},
    {StopReason::asked_now, "asked_now"},
    {StopReason::command_ended, "command_ended"},
    {StopReason::idle, "idle"},
    {StopReason::max_life, "max_life"},
    {StopReason::memory, "memory"},
    {StopReason::slot_lost, "slot_lost"},
    {StopReason::output_closed, "output_closed"},
}};

std::string_view word_of(StopAction action) {
    switch (action) {
    case StopAction::end_of_input:
        return "eof";
    case StopAction::terminate:
        return "term";
    case StopAction::kill:
        return "kill";
    }
    return "kill";
}

} // namespace

StopPlan default_stop_plan() {
    return {{{StopAction::end_of_input, default_grace},
             {StopAction::terminate, default_grace},
             {StopAction::kill, base::Millis{0}}}};
}

Result<StopPlan> parse_stop_plan(std::string_view text) {
    if (text == "mcp")
        return default_stop_plan();
    if (text == "now")
        return StopPlan{{{StopAction::kill, base::Millis{0}}}};
    StopPlan plan;
    auto wrong = [text](std::string_view why) {
        return fail(Errc::invalid_argument,
                    base::cat("\"", text, "\" is not a stop plan: ", why,
                              "; write mcp, now, or stages such as eof:2s,term:5s,kill"));
    };
    std::string_view rest = text;
    for (;;) {
        std::size_t end = rest.find(',');
        std::string_view part = rest.substr(0, end);
        std::size_t colon = part.find(':');
        std::string_view word = part.substr(0, colon);
        StopStage stage;
        if (word == "eof")
            stage.action = StopAction::end_of_input;
        else if (word == "term")
            stage.action = StopAction::terminate;
        else if (word == "kill")
            stage.action = StopAction::kill;
        else
            return wrong(base::cat("\"", word, "\" is not a stage"));
        if (!plan.stages.empty() && plan.stages.back().action >= stage.action)
            return wrong("the stages are eof, term and kill, in that order, each once");
        if (stage.action == StopAction::kill) {
            if (colon != std::string_view::npos)
                return wrong("kill has no time");
        } else {
            if (colon == std::string_view::npos)
                return wrong(base::cat(word, " needs a time, as in ", word, ":2s"));
            auto wait = base::parse_duration(part.substr(colon + 1));
            if (!wait)
                return std::unexpected(wait.error());
            stage.wait = *wait;
        }
        plan.stages.push_back(stage);
        if (end == std::string_view::npos)
            break;
        rest.remove_prefix(end + 1);
    }
    if (plan.stages.back().action != StopAction::kill)
        plan.stages.push_back({StopAction::kill, base::Millis{0}});
    return plan;
}

std::string to_text(const StopPlan& plan) {
    std::string out;
    for (const StopStage& stage : plan.stages) {
        out += base::cat(out.empty() ? "" : ",", word_of(stage.action));
        if (stage.action != StopAction::kill)
            out += base::cat(':', stage.wait.count(), "ms");
    }
    return out;
}

std::string_view name_of(StopReason reason) noexcept {
    for (auto [value, name] : reason_names)
        if (value == reason)
            return name;
    return "asked";
}

std::optional<StopReason> stop_reason_named(std::string_view name) noexcept {
    for (auto [value, text] : reason_names)
        if (text == name)
            return value;
    return std::nullopt;
}

std::size_t first_stage(const StopPlan& plan, StopReason reason) noexcept {
    if (reason == StopReason::asked_now || reason == StopReason::memory)
        return plan.stages.size() - 1;
    bool input_ended = reason == StopReason::input_closed || reason == StopReason::host_gone;
    std::size_t first = 0;
    if (!input_ended && plan.stages.front().action == StopAction::end_of_input)
        first = 1;
    return first;
}

std::optional<StopAction> StopMachine::action() const noexcept {
    if (!stage_)
        return std::nullopt;
    return plan_.stages[*stage_].action;
}

std::optional<StopAction> StopMachine::begin(StopReason reason, std::int64_t now) {
    std::size_t first = first_stage(plan_, reason);
    if (stage_ && first <= *stage_)
        return std::nullopt;
    if (!reason_)
        reason_ = reason;
    return enter(first, now);
}

std::optional<StopAction> StopMachine::advance(std::int64_t now) {
    if (!stage_ || !due_ || now < *due_)
        return std::nullopt;
    return enter(*stage_ + 1, now);
}

void StopMachine::extend(std::int64_t now) {
    if (stage_ && due_)
        due_ = now + plan_.stages[*stage_].wait.count();
}

std::optional<StopAction> StopMachine::enter(std::size_t stage, std::int64_t now) {
    stage_ = stage;
    const StopStage& entered = plan_.stages[stage];
    if (entered.action == StopAction::kill)
        due_.reset();
    else
        due_ = now + entered.wait.count();
    return entered.action;
}

} // namespace holdfast::core
