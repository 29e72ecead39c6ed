// Turns: their beginning, which recalls, and their end, which is stored.
#include "memory/contract/contract_writing.hpp"

#include "memory/ids/ids.hpp"

#include <algorithm>
#include <mutex>

namespace holdfast::memory {

namespace {

// turn.start does two things at once: it commits the episode, and it recalls. The answer needs both, unless
// its deadline comes first.
struct Starting {
    std::string agent;
    std::string session_id;
    Session session;
    Episode episode; // under the id that was given, or the one that a new one gets
    std::string user_text;
    std::string turn_key;
    RecallQuery query;
    bool given_episode = false;
    Service::Timer deadline;
    std::mutex mutex; // for all below
    bool written = false;
    bool searched = false;
    bool answered = false;
    std::string found; // the episode, as the write has it
    std::string told;  // the episode, as it was answered before it was committed: that is the one it must be
    Refusal refusal;
    std::optional<Error> error;
    Recalled recalled;
};

// With the turn's mutex held.
void answer_turn(const CallPointer& call, Starting& turn, const std::string& episode_id) {
    turn.answered = true;
    if (turn.error)
        return call->refuse(*turn.error);
    if (!turn.refusal.code.empty())
        return call->refuse_missing(turn.refusal.code, turn.refusal.message);
    auto shown = to_json(turn.recalled);
    shown["query"] = {{"agent", turn.agent},
                      {"sessionId", turn.session_id},
                      {"episodeId", episode_id},
                      {"query", turn.user_text}};
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
    turn.told = turn.found.empty() ? turn.episode.id : turn.found;
    answer_turn(call, turn, turn.told);
}

Result<void> write_start(const CallPointer& call, Starting& turn, WriteContext& context) {
    {
        const std::lock_guard lock(turn.mutex); // a batch that failed runs its writes again
        turn.refusal = {};
        turn.found.clear();
    }
    auto session = turn.session;
    auto episode = turn.episode;
    if (turn.given_episode) {
        auto given = find_episode(context.database, episode.id);
        if (!given)
            return std::unexpected(std::move(given.error()));
        const std::lock_guard lock(turn.mutex);
        if (!*given || (*given)->session_id != session.id) {
            turn.refusal = no_episode(episode.id);
            return {};
        }
        episode.row = (*given)->row;
        turn.found = episode.id;
    }
    if (auto added = add_session(context, session); !added)
        return added;
    for (bool settled = turn.given_episode; !settled;) {
        std::string told;
        {
            const std::lock_guard lock(turn.mutex);
            told = turn.told;
        }
        episode = turn.episode;
        episode.session_row = session.row;
        if (!told.empty())
            episode.id = told;
        auto there = told.empty() ? current_episode(context, session, turn.query.now_ms, episode)
                                  : add_episode(context, episode);
        if (!there)
            return there;
        const std::lock_guard lock(turn.mutex);
        settled = turn.told == told; // or the deadline came meanwhile, and another id was told
        turn.found = episode.id;
    }
    return set_pending(context, episode.row, call->clean(turn.user_text), turn.turn_key);
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
    turn->session.agent = turn->agent = call->word("agent", true);
    turn->session.id = turn->session_id = call->word("sessionId", true);
    turn->user_text = call->text("userText", true);
    const auto ts = call->integer("ts", true, 0, latest_time);
    turn->session.name_space = call->name_space();
    turn->turn_key = call->clean(call->text("turnKey", false));
    turn->episode.id = call->word("episodeId", false);
    const auto deadline = call->integer("deadlineAt", false, 0, latest_time);
    if (call->bad())
        return;
    turn->given_episode = !turn->episode.id.empty();
    if (!turn->given_episode)
        turn->episode.id = make_id("ep_");
    turn->session.opened_at = turn->episode.opened_at = *ts;
    turn->query.text = turn->user_text;
    turn->query.now_ms = *ts;
    turn->query.name_space = turn->session.name_space;
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
    auto trace = std::make_shared<Trace>();
    (void)call->word("agent", true);
    trace->session_id = call->word("sessionId", true);
    trace->episode_id = call->word("episodeId", true);
    trace->agent_text = call->clean(call->text("agentText", true));
    trace->tool_calls = call->clean_list("toolCalls", true);
    const auto ts = call->integer("ts", true, 0, latest_time);
    const bool user_text_given =
        call->params().contains("userText") && !call->params().at("userText").is_null();
    trace->user_text = call->clean(call->text("userText", false));
    trace->thinking = call->clean(call->text("agentThinking", false));
    // A reflection is text, or an object with a text and a score.
    if (const auto* reflection = call->params().if_contains("reflection");
        reflection != nullptr && reflection->is_string())
        trace->reflection = call->clean(std::string(reflection->get_string()));
    else
        trace->reflection = call->clean_json("reflection");
    trace->meta = call->clean_json("contextHints");
    if (call->bad())
        return;
    trace->id = make_id("tr_");
    trace->ts = *ts;
    trace->kind = "turn";
    trace->priority = 0.5;
    store_trace(call, trace, user_text_given);
}

} // namespace holdfast::memory
