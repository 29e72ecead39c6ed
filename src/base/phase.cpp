#include "base/phase.hpp"

namespace holdfast {

std::string_view name_of(SlotState state) noexcept {
    switch (state) {
    case SlotState::free:
        return "free";
    case SlotState::owned:
        return "owned";
    case SlotState::orphaned:
        return "orphaned";
    }
    return "free";
}

std::string_view name_of(Phase phase) noexcept {
    switch (phase) {
    case Phase::starting:
        return "starting";
    case Phase::ready:
        return "ready";
    case Phase::draining:
        return "draining";
    }
    return "starting";
}

namespace base {

std::optional<Phase> phase_named(std::string_view name) noexcept {
    for (Phase phase : {Phase::starting, Phase::ready, Phase::draining})
        if (name_of(phase) == name)
            return phase;
    return std::nullopt;
}

} // namespace base
} // namespace holdfast
