// What is said about turns afterwards: feedback, and what a helper of the agent has done.
#include "memory/contract/contract_writing.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"

namespace holdfast::memory {

using base::cat;

void subagent_record(const CallPointer& call) {
    auto trace = std::make_shared<Trace>();
    trace->session_id = call->word("sessionId", true);
    trace->episode_id = call->word("episodeId", false);
    trace->user_text = call->clean(call->text("task", true));
    trace->agent_text = call->clean(call->text("result", false));
    trace->tool_calls = call->clean_list("toolCalls", false);
    const auto ts = call->integer("ts", false, 0, latest_time);
    json::object meta;
    for (const auto* name : {"childSessionId", "outcome", "error", "meta"})
        if (const auto* value = call->params().if_contains(name); value != nullptr && !value->is_null())
            meta[name] = *value;
    if (call->bad())
        return;
    trace->meta = call->cleaner().json(std::move(meta));
    trace->id = make_id("tr_");
    trace->ts = ts.value_or(now_ms());
    trace->kind = "subagent";
    trace->tags = R"(["subagent"])";
    trace->priority = 0.5;
    trace->summary = summary_of(trace->user_text, trace->agent_text);
    store_trace(call, trace, true);
}

void feedback_submit(const CallPointer& call) {
    auto feedback = std::make_shared<Feedback>();
    feedback->episode_id = call->word("episodeId", false);
    feedback->trace_id = call->word("traceId", false);
    feedback->channel = call->one_of("channel", {"explicit", "implicit"});
    if (call->bad())
        return;
    feedback->polarity = call->one_of("polarity", {"positive", "negative", "neutral"});
    if (call->bad())
        return;
    const auto magnitude = call->number("magnitude", 0, 1);
    if (!magnitude && !call->bad())
        return call->refuse_argument("magnitude is required");
    feedback->rationale = call->clean(call->text("rationale", false));
    feedback->raw = call->clean_json("raw");
    const auto ts = call->integer("ts", false, 0, latest_time);
    if (call->bad())
        return;
    feedback->id = make_id("fb_");
    feedback->magnitude = *magnitude;
    feedback->ts = ts.value_or(now_ms());
    change(
        call,
        [feedback, given_trace = feedback->trace_id,
         given_episode = feedback->episode_id](WriteContext& context, Refusal& refusal) -> Result<void> {
            feedback->trace_id = given_trace;
            feedback->episode_id = given_episode;
            if (!feedback->trace_id.empty()) {
                auto trace = find_trace(context.database, feedback->trace_id);
                if (!trace)
                    return std::unexpected(std::move(trace.error()));
                if (!*trace) {
                    refusal = {"trace_not_found", cat("no trace ", feedback->trace_id)};
                    return {};
                }
                feedback->episode_id = (*trace)->episode_id;
            } else if (!feedback->episode_id.empty()) {
                auto episode = find_episode(context.database, feedback->episode_id);
                if (!episode)
                    return std::unexpected(std::move(episode.error()));
                if (!*episode) {
                    refusal = no_episode(feedback->episode_id);
                    return {};
                }
                // Feedback on an episode is about its last turn.
                auto last = context.database.prepare(
                    "SELECT id FROM traces WHERE episode=?1 ORDER BY ts DESC, row DESC LIMIT 1");
                if (!last)
                    return std::unexpected(std::move(last.error()));
                (*last)->bind(1, (*episode)->row);
                const ScopedReset reset(**last);
                auto row = (*last)->step();
                if (!row)
                    return std::unexpected(std::move(row.error()));
                if (*row)
                    feedback->trace_id = (*last)->string(0);
            }
            return add_feedback(context, *feedback);
        },
        [call, feedback] {
            call->answer(to_json(*feedback));
            call->contract().notify("feedback.submitted", {{"feedbackId", feedback->id}});
        });
}

} // namespace holdfast::memory
