// Turns: their beginning, which recalls, and their end, which is stored.
#include "memory/contract/contract_writing.hpp"
#include "memory/domain/turns.hpp"
#include "memory/ids/ids.hpp"

#include <algorithm>
#include <mutex>

namespace holdfast::memory {

namespace {

// turn.start does two things at once: it commits the episode, and it recalls. The answer needs both, unless
// its deadline comes first.
struct Starting {
    std::string agent;
    domain::TurnStart start;
    RecallQuery query;
    Service::Timer deadline;
    std::mutex mutex; // for all below
    bool written = false;
    bool searched = false;
    bool answered = false;
    std::string found; // the episode, as the write has it
    std::string told;  // the episode, as it was answered before it was committed: that is the one it must be
    domain::Refusal refusal;
    std::optional<Error> error;
    Recalled recalled;
};

// With the turn's mutex held.
void answer_turn(const CallPointer& call, Starting& turn, const std::string& episode_id) {
    turn.answered = true;
    if (turn.error)
        return call->refuse(*turn.error);
    if (turn.refusal)
        return refuse(call, turn.refusal);
    auto shown = to_json(turn.recalled);
    shown["query"] = {{"agent", turn.agent},
                      {"sessionId", turn.start.session.id},
                      {"episodeId", episode_id},
                      {"query", turn.query.text}};
    call->answer(std::move(shown));
}

// Half of the turn is done; the second half answers.
void finish(const CallPointer& call, Starting& turn, bool Starting::* half, std::optional<Error> failed) {
    const std::lock_guard lock(turn.mutex);
    turn.*half = true;
    if (failed)
        turn.error = std::move(failed);
    if (turn.answered || !turn.written || !turn.searched)
        return;
    call->service().cancel(turn.deadline);
    answer_turn(call, turn, turn.found);
}

void answer_by_deadline(const CallPointer& call, Starting& turn) {
    const std::lock_guard lock(turn.mutex);
    if (turn.answered)
        return;
    turn.recalled.cut = turn.recalled.cut || !turn.searched;
    turn.told = turn.found.empty() ? turn.start.episode_id : turn.found;
    answer_turn(call, turn, turn.told);
}

Result<void> write_start(const CallPointer& call, Starting& turn, WriteContext& context) {
    {
        const std::lock_guard lock(turn.mutex); // a batch that failed runs its writes again
        turn.refusal = {};
    }
    auto start = turn.start;
    start.user_text = call->clean(turn.query.text);
    auto begun = domain::begin_turn(context, start, [&turn](const std::string& found) {
        const std::lock_guard lock(turn.mutex);
        turn.found = found;
        return turn.told;
    });
    if (!begun)
        return std::unexpected(std::move(begun.error()));
    const std::lock_guard lock(turn.mutex);
    turn.refusal = std::move(begun->refusal);
    return {};
}

// When to answer, so that the client has it by its deadline: a little earlier.
std::int64_t moment_before(std::int64_t deadline_ms) {
    constexpr std::int64_t far_us = 1'000'000'000'000'000; // some thirty years: others reckon with it, too
    const auto left_us = std::min((deadline_ms - now_ms()) * 1000, far_us);
    return monotonic_us() + left_us - std::clamp<std::int64_t>(left_us / 20, 0, 5000);
}

} // namespace

void turn_start(const CallPointer& call) {
    auto turn = std::make_shared<Starting>();
    auto& start = turn->start;
    start.session.agent = turn->agent = call->word("agent", true);
    start.session.id = call->word("sessionId", true);
    turn->query.text = call->text("userText", true);
    const auto ts = call->integer("ts", true, 0, latest_time);
    start.session.name_space = turn->query.name_space = call->name_space();
    start.turn_key = call->clean(call->text("turnKey", false));
    start.episode_id = call->word("episodeId", false);
    const auto deadline = call->integer("deadlineAt", false, 0, latest_time);
    if (call->bad())
        return;
    start.episode_given = !start.episode_id.empty();
    if (!start.episode_given)
        start.episode_id = make_id("ep_");
    start.ts = start.session.opened_at = turn->query.now_ms = *ts;
    if (deadline) {
        turn->query.deadline_us = std::max<std::int64_t>(1, moment_before(*deadline));
        turn->deadline = call->service().run_at(turn->query.deadline_us,
                                                [call, turn] { answer_by_deadline(call, *turn); });
    }
    call->service().submit([call, turn](WriteContext& context) { return write_start(call, *turn, context); },
                           [call, turn](Result<void> done) {
                               finish(call, *turn, &Starting::written,
                                      done ? std::nullopt : std::optional(done.error()));
                           });
    call->service().run(call->peer()->lane(), [call, turn](bool open) {
        std::optional<Error> failed;
        if (!open) {
            failed = Error{Errc::closed, call->service().failure(), 0};
        } else {
            {
                const std::lock_guard lock(turn->mutex);
                if (turn->answered)
                    return;
            }
            auto recalled = call->service().recall().search(turn->query);
            const std::lock_guard lock(turn->mutex);
            if (!recalled)
                failed = std::move(recalled.error());
            else if (!turn->answered)
                turn->recalled = std::move(*recalled);
        }
        finish(call, *turn, &Starting::searched, std::move(failed));
    });
}

void turn_end(const CallPointer& call) {
    (void)call->word("agent", true);
    Trace said;
    said.session_id = call->word("sessionId", true);
    said.episode_id = call->word("episodeId", true);
    said.agent_text = call->clean(call->text("agentText", true));
    said.tool_calls = call->clean_list("toolCalls", true);
    const auto ts = call->integer("ts", true, 0, latest_time);
    const bool user_text_said =
        call->params().contains("userText") && !call->params().at("userText").is_null();
    said.user_text = call->clean(call->text("userText", false));
    said.thinking = call->clean(call->text("agentThinking", false));
    // A reflection is text, or an object with a text and a score.
    if (const auto* reflection = call->params().if_contains("reflection");
        reflection != nullptr && reflection->is_string())
        said.reflection = call->clean(std::string(reflection->get_string()));
    else
        said.reflection = call->clean_json("reflection");
    said.meta = call->clean_json("contextHints");
    if (call->bad())
        return;
    store_trace(call, domain::new_trace("turn", *ts, std::move(said)), user_text_said);
}

} // namespace holdfast::memory
