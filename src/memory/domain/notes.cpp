#include "memory/domain/notes.hpp"

#include "base/try.hpp"
#include "memory/domain/episodes.hpp"
#include "memory/ids/ids.hpp"
#include "memory/repository/rows.hpp"

namespace holdfast::memory::domain {

namespace {

constexpr const char* session_of_notes = "se_notes";

} // namespace

Result<Answer<StoredNote>> add_note(WriteContext& context, const Trace& note, const Session& session) {
    auto stored = note;
    auto home = session;
    if (home.id.empty())
        home.id = session_of_notes;
    HF_TRY(opened, add_session(context, home));
    HF_TRY(episode, episode_of_notes(context, home, stored.ts, make_id("ep_")));
    stored.session_row = home.row;
    stored.episode_row = episode->row;
    HF_TRY(added, add_trace(context, stored));
    return Answer<StoredNote>{{std::move(stored.id), std::move(episode->id), std::move(home.id)}};
}

Result<Answer<std::string>> keep_summary(WriteContext& context, const Trace& note,
                                         const std::string& episode_id) {
    auto stored = note;
    HF_TRY(episode, find_episode(context.database, episode_id));
    if (!*episode)
        return Answer<std::string>{std::move(stored.id)};
    stored.episode_row = (*episode)->row;
    stored.session_row = (*episode)->session_row;
    HF_TRY(added, add_trace(context, stored));
    return Answer<std::string>{std::move(stored.id)};
}

} // namespace holdfast::memory::domain
