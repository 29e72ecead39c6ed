#include "memory/domain/turns.hpp"

#include "base/try.hpp"
#include "base/utf8.hpp"
#include "memory/domain/episodes.hpp"
#include "memory/ids/ids.hpp"
#include "memory/repository/rows.hpp"

#include <optional>

namespace holdfast::memory::domain {

namespace {

constexpr std::size_t most_summary = 160;

// A turn may get its user's text from another line, and be longer than any line. Text grows at most sixfold
// as JSON, so of most turns that is known without looking.
std::optional<Refusal> too_long(const Trace& trace, LineSize line_size) {
    constexpr std::size_t most = (std::size_t{31} << 20) - 2048; // of what the importing side takes
    const auto size = trace.user_text.size() + trace.agent_text.size() + trace.thinking.size() +
                      trace.reflection.size() + trace.tool_calls.size() + trace.meta.size();
    if (size < most / 8 || line_size(trace) <= most)
        return std::nullopt;
    return Refusal{Why::too_long, "the turn with its user's text is longer than 30 MiB"};
}

Result<Answer<StoredTrace>> stored(WriteContext& context, Trace& trace) {
    HF_TRY(added, add_trace(context, trace));
    return Answer<StoredTrace>{{std::move(trace.id), std::move(trace.episode_id)}};
}

// The one that is going on, or a new one; until the client was told of no other.
Result<std::string> settle_episode(WriteContext& context, const Session& session, const TurnStart& start,
                                   const AgreeOnEpisode& agree, std::int64_t& row) {
    for (auto told = agree("");;) {
        Episode episode{.id = told, .session_row = session.row, .opened_at = start.ts};
        if (told.empty()) {
            HF_TRY(current, current_episode(context, session, start.ts, start.episode_id));
            episode = std::move(*current);
        } else {
            HF_TRY(added, add_episode(context, episode));
        }
        row = episode.row;
        auto by_now = agree(episode.id);
        if (by_now == told)
            return std::move(episode.id);
        told = std::move(by_now);
    }
}

} // namespace

std::string summary_of(const std::string& user_text, const std::string& agent_text) {
    const std::string_view text = user_text.empty() ? agent_text : user_text;
    return std::string(base::cut_at_character(text.substr(0, text.find('\n')), most_summary));
}

Trace new_trace(std::string kind, std::int64_t ts, Trace said) {
    said.id = make_id("tr_");
    said.ts = ts;
    said.kind = std::move(kind);
    said.priority = 0.5;
    return said;
}

Result<Answer<std::string>> begin_turn(WriteContext& context, const TurnStart& start,
                                       const AgreeOnEpisode& agree) {
    auto id = start.episode_id;
    std::int64_t row = 0;
    if (start.episode_given) {
        HF_TRY(given, find_episode(context.database, id));
        if (!*given || (*given)->session_id != start.session.id)
            return Answer<std::string>{.refusal = no_episode(id)};
        row = (*given)->row;
        (void)agree(id);
    }
    auto session = start.session;
    HF_TRY(added, add_session(context, session));
    if (!start.episode_given) {
        HF_TRY(settled, settle_episode(context, session, start, agree, row));
        id = std::move(*settled);
    }
    HF_TRY(said, set_pending(context, row, start.user_text, start.turn_key));
    return Answer<std::string>{std::move(id)};
}

Result<Answer<StoredTrace>> end_turn(WriteContext& context, const EndedTurn& turn, LineSize line_size) {
    using Stored = Answer<StoredTrace>;
    auto trace = turn.trace;
    HF_TRY(session, find_session(context.database, trace.session_id));
    if (!*session)
        return Stored{.refusal = no_session(trace.session_id)};
    trace.session_row = (*session)->row;
    if (trace.episode_id.empty()) {
        HF_TRY(current, current_episode(context, **session, trace.ts, make_id("ep_")));
        trace.episode_id = current->id;
        trace.episode_row = current->row;
        return stored(context, trace);
    }
    HF_TRY(episode, find_episode(context.database, trace.episode_id));
    if (!*episode || (*episode)->session_row != trace.session_row)
        return Stored{.refusal = no_episode(trace.episode_id)};
    trace.episode_row = (*episode)->row;
    if (!turn.user_text_said) {
        // The first time around took what turn.start had said, and left nothing to compare it by.
        HF_TRY(same, find_same_answer(context, trace));
        if (*same)
            return Stored{{std::move(trace.id), std::move(trace.episode_id)}};
        trace.user_text = (*episode)->pending_user;
    }
    if (trace.summary.empty())
        trace.summary = summary_of(trace.user_text, trace.agent_text);
    if (auto refused = too_long(trace, line_size))
        return Stored{.refusal = std::move(*refused)};
    return stored(context, trace);
}

Result<Answer<bool>> forget(WriteContext& context, const std::string& id) {
    HF_TRY(removed, delete_trace(context, id));
    return *removed ? Answer<bool>{true} : Answer<bool>{.refusal = no_trace(id)};
}

} // namespace holdfast::memory::domain
