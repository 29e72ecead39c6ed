#include "memory/contract/contract_writing.hpp"

#include "memory/domain/turns.hpp"
#include "json/json_write.hpp"

namespace holdfast::memory {

namespace {

std::string_view code_of(domain::Why why) {
    switch (why) {
    case domain::Why::no_session:
        return "session_not_found";
    case domain::Why::no_episode:
        return "episode_not_found";
    case domain::Why::no_trace:
        return "trace_not_found";
    case domain::Why::no_policy:
        return "policy_not_found";
    case domain::Why::no_world_model:
        return "world_model_not_found";
    case domain::Why::no_skill:
        return "skill_not_found";
    case domain::Why::conflict:
        return "conflict";
    case domain::Why::too_long:
    case domain::Why::granted:
        break;
    }
    return "invalid_argument";
}

std::size_t line_size(const Trace& trace) {
    return json::to_text(to_json(trace)).size();
}

} // namespace

void refuse(const CallPointer& call, const domain::Refusal& refusal) {
    if (refusal.why == domain::Why::too_long)
        return call->refuse_argument(refusal.message);
    call->refuse_missing(code_of(refusal.why), refusal.message);
}

void store_trace(const CallPointer& call, Trace trace, bool user_text_said) {
    change(
        call,
        [turn = domain::EndedTurn{std::move(trace), user_text_said}](WriteContext& context) {
            return domain::end_turn(context, turn, line_size);
        },
        [call](const domain::StoredTrace& stored) {
            call->answer(json::object{{"traceId", stored.trace_id}, {"episodeId", stored.episode_id}});
            call->contract().notify("trace.created",
                                    {{"traceId", stored.trace_id}, {"episodeId", stored.episode_id}});
        });
}

} // namespace holdfast::memory
