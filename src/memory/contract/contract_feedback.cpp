// What is said about turns afterwards: feedback, and what a helper of the agent has done.
#include "memory/contract/contract_writing.hpp"
#include "memory/domain/feedback.hpp"
#include "memory/domain/turns.hpp"
#include "memory/ids/ids.hpp"

namespace holdfast::memory {

void subagent_record(const CallPointer& call) {
    Trace said;
    said.session_id = call->word("sessionId", true);
    said.episode_id = call->word("episodeId", false);
    said.user_text = call->clean(call->text("task", true));
    said.agent_text = call->clean(call->text("result", false));
    said.tool_calls = call->clean_list("toolCalls", false);
    const auto ts = call->integer("ts", false, 0, latest_time);
    json::object meta;
    for (const auto* name : {"childSessionId", "outcome", "error", "meta"})
        if (const auto* value = call->params().if_contains(name); value != nullptr && !value->is_null())
            meta[name] = *value;
    if (call->bad())
        return;
    said.meta = call->cleaner().json(std::move(meta));
    said.tags = R"(["subagent"])";
    said.summary = domain::summary_of(said.user_text, said.agent_text);
    store_trace(call, domain::new_trace("subagent", ts.value_or(now_ms()), std::move(said)), true);
}

void feedback_submit(const CallPointer& call) {
    Feedback feedback;
    feedback.episode_id = call->word("episodeId", false);
    feedback.trace_id = call->word("traceId", false);
    feedback.channel = call->one_of("channel", {"explicit", "implicit"});
    if (call->bad())
        return;
    feedback.polarity = call->one_of("polarity", {"positive", "negative", "neutral"});
    if (call->bad())
        return;
    const auto magnitude = call->number("magnitude", 0, 1);
    if (!magnitude && !call->bad())
        return call->refuse_argument("magnitude is required");
    feedback.rationale = call->clean(call->text("rationale", false));
    feedback.raw = call->clean_json("raw");
    const auto ts = call->integer("ts", false, 0, latest_time);
    if (call->bad())
        return;
    feedback.id = make_id("fb_");
    feedback.magnitude = *magnitude;
    feedback.ts = ts.value_or(now_ms());
    change(
        call, [feedback](WriteContext& context) { return domain::give_feedback(context, feedback); },
        [call](const Feedback& given) {
            call->answer(to_json(given));
            call->contract().notify("feedback.submitted", {{"feedbackId", given.id}});
        });
}

} // namespace holdfast::memory
