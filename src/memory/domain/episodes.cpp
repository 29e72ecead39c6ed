#include "memory/domain/episodes.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "memory/repository/rows.hpp"

namespace holdfast::memory::domain {

namespace {

Result<Episode> new_episode(WriteContext& context, const Session& session, std::int64_t ts,
                            const std::string& id) {
    Episode episode{.id = id, .session_row = session.row, .session_id = session.id, .opened_at = ts};
    HF_TRY(added, add_episode(context, episode));
    return episode;
}

} // namespace

Result<Episode> current_episode(WriteContext& context, const Session& session, std::int64_t ts,
                                const std::string& fresh_id) {
    HF_TRY(open, open_episode_of(context.database, session.row));
    if (*open) {
        HF_TRY(last, last_time_in(context.database, (*open)->row));
        if (ts - last->value_or((*open)->opened_at) < episode_idle_ms)
            return std::move(**open);
    }
    return new_episode(context, session, ts, fresh_id);
}

Result<Episode> episode_of_notes(WriteContext& context, const Session& session, std::int64_t ts,
                                 const std::string& fresh_id) {
    HF_TRY(open, open_episode_of(context.database, session.row));
    if (*open && ts - (*open)->opened_at < note_episode_ms)
        return std::move(**open);
    return new_episode(context, session, ts, fresh_id);
}

Result<Answer<Episode>> open_episode(WriteContext& context, const std::string& session_id,
                                     const Episode& given) {
    HF_TRY(session, find_session(context.database, session_id));
    if (!*session)
        return Answer<Episode>{.refusal = no_session(session_id)};
    auto episode = given;
    episode.session_row = (*session)->row;
    HF_TRY(added, add_episode(context, episode));
    if (episode.session_row != (*session)->row)
        return Answer<Episode>{
            .refusal = {Why::conflict, base::cat("the episode ", given.id, " belongs to another session")}};
    if (episode.closed_at != 0) {
        HF_TRY(opened, reopen_episode(context, episode.row));
    }
    if (!given.pending_user.empty()) {
        HF_TRY(said, set_pending(context, episode.row, given.pending_user, episode.turn_key));
    }
    return Answer<Episode>{std::move(episode)};
}

Result<Answer<bool>> close_episode(WriteContext& context, const std::string& id, std::int64_t at) {
    HF_TRY(episode, find_episode(context.database, id));
    if (!*episode)
        return Answer<bool>{.refusal = no_episode(id)};
    HF_TRY(closed, memory::close_episode(context, (*episode)->row, at));
    return Answer<bool>{(*episode)->closed_at == 0};
}

} // namespace holdfast::memory::domain
