#include "memory/domain/feedback.hpp"

#include "base/try.hpp"
#include "memory/repository/rows.hpp"

namespace holdfast::memory::domain {

Result<Answer<Feedback>> give_feedback(WriteContext& context, const Feedback& given) {
    Answer<Feedback> answer{given};
    auto& feedback = answer.value;
    if (!feedback.trace_id.empty()) {
        HF_TRY(trace, find_trace(context.database, feedback.trace_id));
        if (!*trace)
            return Answer<Feedback>{.refusal = no_trace(feedback.trace_id)};
        feedback.episode_id = std::move((*trace)->episode_id);
    } else if (!feedback.episode_id.empty()) {
        HF_TRY(episode, find_episode(context.database, feedback.episode_id));
        if (!*episode)
            return Answer<Feedback>{.refusal = no_episode(feedback.episode_id)};
        HF_TRY(last, last_trace_in(context.database, (*episode)->row));
        feedback.trace_id = std::move(*last);
    }
    HF_TRY(added, add_feedback(context, feedback));
    return answer;
}

Result<void> add_feedback(WriteContext& context, const Feedback& feedback) {
    HF_TRY(inserted, insert_feedback(context, feedback));
    if (!*inserted || feedback.trace_id.empty() || feedback.polarity == "neutral")
        return {};
    // A step toward +1 or -1: later words weigh more than earlier ones, and the value stays in its range.
    // What a person said explicitly moves it twice as far as what was inferred.
    const double goal = feedback.polarity == "positive" ? 1.0 : -1.0;
    const double rate = (feedback.channel == "explicit" ? 0.6 : 0.3) * feedback.magnitude;
    return move_value(context, feedback.trace_id, goal, rate);
}

} // namespace holdfast::memory::domain
