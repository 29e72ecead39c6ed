// Turns: their beginning, which recalls, and their end, which is stored.
#include "memory/contract/contract_writing.hpp"

#include "memory/store/ids.hpp"

#include <algorithm>
#include <mutex>

namespace holdfast::memory {

namespace json = boost::json;

namespace {

// turn.start does two things at once: it commits the episode, and it recalls. The answer needs both.
struct Starting {
    std::string agent;
    std::string session_id;
    std::string fresh_episode; // the id of the episode, should a new one be needed
    Session session;           // these two belong to the write, once it has begun
    Episode episode;
    std::string user_text;
    std::string turn_key;
    RecallQuery query;
    bool given_episode = false;
    std::mutex mutex; // for all below
    int waiting = 2;
    bool write_begun = false;
    bool answered_early = false; // by the deadline, before the store was open
    Refusal refusal;
    std::optional<Error> error;
    Recalled recalled;
};

json::object shown_turn(const Starting& turn, const std::string& episode_id) {
    auto shown = to_json(turn.recalled);
    shown["query"] = {{"agent", turn.agent},
                      {"sessionId", turn.session_id},
                      {"episodeId", episode_id},
                      {"query", turn.user_text}};
    return shown;
}

// One half is done, the write or the recall; `failed` when it could not be. The second one answers.
void finish(const CallPointer& call, const std::shared_ptr<Starting>& turn,
            const std::optional<Error>& failed) {
    const std::lock_guard lock(turn->mutex);
    if (failed)
        turn->error = failed;
    if (turn->answered_early || --turn->waiting > 0)
        return;
    if (turn->error)
        return call->refuse(*turn->error);
    if (!turn->refusal.code.empty())
        return call->refuse_missing(turn->refusal.code, turn->refusal.message);
    call->answer(shown_turn(*turn, turn->episode.id));
}

void recall_for(const CallPointer& call, const std::shared_ptr<Starting>& turn) {
    call->service().run(
        [call, turn](bool open) {
            if (open) {
                auto recalled = call->service().recall().search(turn->query);
                if (!recalled)
                    return finish(call, turn, recalled.error());
                turn->recalled = std::move(*recalled);
                return finish(call, turn, std::nullopt);
            }
            if (const auto failure = call->service().failure(); !failure.empty())
                return finish(call, turn, Error{Errc::closed, failure, 0});
            // The deadline came before the store was open. The episode gets the id that is told now when its
            // write runs; one that has begun is about to be answered anyway.
            turn->recalled.cut = true;
            {
                const std::lock_guard lock(turn->mutex);
                if (!turn->write_begun) {
                    turn->answered_early = true;
                    call->answer(
                        shown_turn(*turn, turn->given_episode ? turn->episode.id : turn->fresh_episode));
                    return;
                }
            }
            finish(call, turn, std::nullopt);
        },
        turn->query.deadline_us);
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
    turn->fresh_episode = make_id("ep_");
    if (!turn->given_episode)
        turn->episode.id = turn->fresh_episode;
    turn->session.opened_at = *ts;
    turn->query.text = turn->user_text;
    turn->query.now_ms = *ts;
    turn->query.name_space = turn->session.name_space;
    if (deadline)
        turn->query.deadline_us = std::max<std::int64_t>(1, monotonic_us() + (*deadline - now_ms()) * 1000);
    call->service().submit(
        [call, turn, ts = *ts, session = turn->session,
         episode = turn->episode](WriteContext& context) -> Result<void> {
            bool id_was_told = false;
            {
                const std::lock_guard lock(turn->mutex);
                turn->write_begun = true;
                turn->refusal = {};
                id_was_told = turn->answered_early;
            }
            turn->session = session;
            turn->episode = episode;
            if (turn->given_episode) {
                auto found = find_episode(context.database, episode.id);
                if (!found)
                    return std::unexpected(std::move(found.error()));
                if (!*found || (*found)->session_id != session.id) {
                    turn->refusal = no_episode(episode.id);
                    return {};
                }
                turn->episode.row = (*found)->row;
            }
            if (auto added = add_session(context, turn->session); !added)
                return added;
            if (id_was_told && !turn->given_episode) {
                turn->episode.session_row = turn->session.row;
                turn->episode.opened_at = ts;
                if (auto added = add_episode(context, turn->episode); !added)
                    return added;
            } else if (!turn->given_episode) {
                if (auto current = current_episode(context, turn->session, ts, turn->episode); !current)
                    return current;
            }
            return set_pending(context, turn->episode.row, call->clean(turn->user_text), turn->turn_key);
        },
        [call, turn](Result<void> done) {
            finish(call, turn, done ? std::nullopt : std::optional(done.error()));
        });
    recall_for(call, turn);
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
