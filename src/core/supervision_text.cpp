// What the supervision machine says to people.
#include "base/text.hpp"
#include "core/supervision.hpp"

namespace holdfast::core {

std::string describe(Failure failure) {
    switch (failure.kind) {
    case FailureKind::none:
        return "nothing failed";
    case FailureKind::exited:
        return base::cat("it exited with status ", failure.detail);
    case FailureKind::killed:
        return base::cat("it was killed by signal ", failure.detail);
    case FailureKind::spawn_failed:
        return base::cat("it could not be started (errno ", failure.detail, ")");
    case FailureKind::stalled:
        return "its start made no progress";
    case FailureKind::unanswered:
        return "it lives but no longer answers";
    case FailureKind::input_closed:
        return "it closed its input, so that nothing could be asked of it any more";
    case FailureKind::replaced:
        return "a caller asked for its replacement";
    case FailureKind::keeper_gone:
        return "its keeper was killed";
    }
    return "it failed";
}

std::string describe_failure(const Supervision& state, const SupervisionPolicy& policy) {
    const auto window = std::chrono::duration_cast<std::chrono::seconds>(policy.backoff.window).count();
    std::string text = base::cat("gave up at generation ", state.generation, ": ", describe(state.failure),
                                 "; ", state.failures_in_a_row, " failures in a row, ",
                                 state.failures_in_window, " in the last ", window, " s. Call retry()");
    if (policy.cool_down.count() > 0) {
        const auto cool = std::chrono::duration_cast<std::chrono::seconds>(policy.cool_down).count();
        text += base::cat(", or hold it again after ", cool, " s");
    }
    text += '.';
    return text;
}

} // namespace holdfast::core
