// Sessions, episodes, turns and feedback: what changes the store. Each answers after its commit.
#include "memory/contract/contract_call.hpp"

#include "core/json_text.hpp"
#include "core/text.hpp"
#include "memory/store/ids.hpp"
#include "memory/store/rows.hpp"

#include <algorithm>

namespace holdfast::memory {

using core::cat;
namespace json = boost::json;

namespace {

constexpr std::int64_t far_future = 9'000'000'000'000'000;
constexpr std::int64_t episode_idle_ms = 2LL * 3600 * 1000; // a pause this long begins a new episode

// What a write found to be wrong with the request: told to the client, and the transaction goes on without
// it.
struct Refusal {
    std::string code;
    std::string message;
};

std::string summary_of(const std::string& user_text, const std::string& agent_text) {
    const std::string& text = user_text.empty() ? agent_text : user_text;
    auto end = std::min<std::size_t>({text.find('\n'), text.size(), 160});
    while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        --end;
    return text.substr(0, end);
}

// Runs a write that may refuse; `write` fills in the refusal or leaves it empty. It may be run again after it
// was rolled back with others of its batch, so it begins from what the client said, never from what an
// earlier run found.
template <class Write, class Answer>
void change(const CallPointer& call, Write write, Answer answer) {
    auto refusal = std::make_shared<Refusal>();
    call->service().submit(
        [refusal, write = std::move(write)](WriteContext& context) mutable -> Result<void> {
            *refusal = {}; // a batch that failed runs its writes again
            return write(context, *refusal);
        },
        [call, refusal, answer = std::move(answer)](Result<void> done) mutable {
            if (!done) {
                call->contract().log("error", "store", done.error().message);
                return call->refuse(done.error());
            }
            if (refusal->code == "invalid_argument")
                return call->refuse_argument(refusal->message);
            if (!refusal->code.empty())
                return call->refuse_missing(refusal->code, refusal->message);
            answer();
        });
}

// A turn may get its user's text from another line, and be longer than any line: exported, it could not be
// imported again. Text grows at most sixfold as JSON, so of most turns that is known without looking.
std::optional<Refusal> too_long(const Trace& trace) {
    constexpr std::size_t most = (std::size_t{31} << 20) - 2048; // of what the importing side takes
    const auto size = trace.user_text.size() + trace.agent_text.size() + trace.thinking.size() +
                      trace.reflection.size() + trace.tool_calls.size() + trace.meta.size();
    if (size < most / 8 || core::json_text(to_json(trace)).size() <= most)
        return std::nullopt;
    return Refusal{"invalid_argument", "the turn with its user's text is longer than 30 MiB"};
}

Refusal no_session(const std::string& id) {
    return {"session_not_found", cat("no session ", id)};
}
Refusal no_episode(const std::string& id) {
    return {"episode_not_found", cat("no episode ", id)};
}

Result<void> current_episode(WriteContext& context, const Session& session, std::int64_t ts,
                             Episode& episode) {
    auto open = open_episode_of(context.database, session.row);
    if (!open)
        return std::unexpected(std::move(open.error()));
    if (*open) {
        auto last = context.database.prepare("SELECT max(ts) FROM traces WHERE episode=?1");
        if (!last)
            return std::unexpected(std::move(last.error()));
        (*last)->bind(1, (*open)->row);
        const ScopedReset reset(**last);
        auto row = (*last)->step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        const auto last_ts = (*last)->is_null(0) ? (*open)->opened_at : (*last)->integer(0);
        if (ts - last_ts < episode_idle_ms) {
            episode = std::move(**open);
            return {};
        }
    }
    episode.session_row = session.row;
    episode.session_id = session.id;
    episode.opened_at = ts;
    return add_episode(context, episode);
}

} // namespace

void session_open(const CallPointer& call) {
    Session given;
    given.agent = call->word("agent", true);
    given.id = call->word("sessionId", false);
    given.meta = call->clean_json("meta");
    given.name_space = call->name_space();
    if (call->bad())
        return;
    if (given.id.empty())
        given.id = make_id("se_");
    given.opened_at = now_ms();
    auto session = std::make_shared<Session>();
    change(
        call,
        [session, given](WriteContext& context, Refusal&) {
            *session = given;
            return add_session(context, *session);
        },
        [call, session] {
            call->answer(json::object{{"sessionId", session->id}});
            call->contract().notify("session.opened",
                                    {{"sessionId", session->id}, {"agent", session->agent}});
        });
}

void session_close(const CallPointer& call) {
    const auto id = call->word("sessionId", true);
    if (call->bad())
        return;
    auto open_episode = std::make_shared<std::string>();
    change(
        call,
        [id, open_episode](WriteContext& context, Refusal& refusal) -> Result<void> {
            open_episode->clear();
            auto session = find_session(context.database, id);
            if (!session)
                return std::unexpected(std::move(session.error()));
            if (!*session) {
                refusal = no_session(id);
                return {};
            }
            if (const auto episode = open_episode_of(context.database, (*session)->row); episode && *episode)
                *open_episode = (*episode)->id;
            return close_session(context, (*session)->row, now_ms());
        },
        [call, id, open_episode] {
            call->answer(json::object{{"ok", true}});
            call->contract().notify("session.closed", {{"sessionId", id}});
            summarize(call, *open_episode);
        });
}

void episode_open(const CallPointer& call) {
    const auto session_id = call->word("sessionId", true);
    Episode given;
    given.id = call->word("episodeId", false);
    given.pending_user = call->clean(call->text("userMessage", false));
    if (call->bad())
        return;
    if (given.id.empty())
        given.id = make_id("ep_");
    given.opened_at = now_ms();
    auto episode = std::make_shared<Episode>();
    change(
        call,
        [session_id, episode, given](WriteContext& context, Refusal& refusal) -> Result<void> {
            auto session = find_session(context.database, session_id);
            if (!session)
                return std::unexpected(std::move(session.error()));
            if (!*session) {
                refusal = no_session(session_id);
                return {};
            }
            *episode = given;
            episode->session_row = (*session)->row;
            return add_episode(context, *episode);
        },
        [call, episode] {
            call->answer(json::object{{"episodeId", episode->id}});
            call->contract().notify("episode.opened", {{"episodeId", episode->id}});
        });
}

void episode_close(const CallPointer& call) {
    const auto id = call->word("episodeId", true);
    if (call->bad())
        return;
    change(
        call,
        [id](WriteContext& context, Refusal& refusal) -> Result<void> {
            auto episode = find_episode(context.database, id);
            if (!episode)
                return std::unexpected(std::move(episode.error()));
            if (*episode)
                return close_episode(context, (*episode)->row, now_ms());
            refusal = no_episode(id);
            return {};
        },
        [call, id] {
            call->answer(json::object{{"ok", true}});
            call->contract().notify("episode.closed", {{"episodeId", id}});
            summarize(call, id);
        });
}

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
    const auto ts = call->integer("ts", true, 0, far_future);
    turn->session.name_space = call->name_space();
    turn->turn_key = call->clean(call->text("turnKey", false));
    turn->episode.id = call->word("episodeId", false);
    const auto deadline = call->integer("deadlineAt", false, 0, far_future);
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

namespace {

// Stores a trace in an episode of a session, both of which must exist.
void store_trace(const CallPointer& call, const std::shared_ptr<Trace>& trace, bool user_text_given) {
    change(
        call,
        [trace, user_text_given, id = trace->id, given_episode = trace->episode_id,
         given_summary = trace->summary](WriteContext& context, Refusal& refusal) -> Result<void> {
            trace->id = id;
            trace->episode_id = given_episode;
            trace->summary = given_summary;
            auto session = find_session(context.database, trace->session_id);
            if (!session)
                return std::unexpected(std::move(session.error()));
            if (!*session) {
                refusal = no_session(trace->session_id);
                return {};
            }
            trace->session_row = (*session)->row;
            if (given_episode.empty()) {
                Episode episode{.id = make_id("ep_")};
                if (auto current = current_episode(context, **session, trace->ts, episode); !current)
                    return current;
                trace->episode_id = episode.id;
                trace->episode_row = episode.row;
                return add_trace(context, *trace);
            }
            auto episode = find_episode(context.database, trace->episode_id);
            if (!episode)
                return std::unexpected(std::move(episode.error()));
            if (!*episode || (*episode)->session_row != trace->session_row) {
                refusal = no_episode(trace->episode_id);
                return {};
            }
            trace->episode_row = (*episode)->row;
            if (!user_text_given) {
                // The first time around took what turn.start had said, and left nothing to compare it by.
                auto stored = find_same_answer(context, *trace);
                if (!stored || *stored)
                    return stored ? Result<void>() : std::unexpected(std::move(stored.error()));
                trace->user_text = (*episode)->pending_user; // as turn.start said it
            }
            if (trace->summary.empty())
                trace->summary = summary_of(trace->user_text, trace->agent_text);
            if (auto refused = too_long(*trace)) {
                refusal = std::move(*refused);
                return {};
            }
            return add_trace(context, *trace);
        },
        [call, trace] {
            call->answer(json::object{{"traceId", trace->id}, {"episodeId", trace->episode_id}});
            call->contract().notify("trace.created",
                                    {{"traceId", trace->id}, {"episodeId", trace->episode_id}});
        });
}

} // namespace

void turn_end(const CallPointer& call) {
    auto trace = std::make_shared<Trace>();
    (void)call->word("agent", true);
    trace->session_id = call->word("sessionId", true);
    trace->episode_id = call->word("episodeId", true);
    trace->agent_text = call->clean(call->text("agentText", true));
    trace->tool_calls = call->clean_list("toolCalls", true);
    const auto ts = call->integer("ts", true, 0, far_future);
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

void subagent_record(const CallPointer& call) {
    auto trace = std::make_shared<Trace>();
    trace->session_id = call->word("sessionId", true);
    trace->episode_id = call->word("episodeId", false);
    trace->user_text = call->clean(call->text("task", true));
    trace->agent_text = call->clean(call->text("result", false));
    trace->tool_calls = call->clean_list("toolCalls", false);
    const auto ts = call->integer("ts", false, 0, far_future);
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
    const auto ts = call->integer("ts", false, 0, far_future);
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
