#include "memory/domain/sessions.hpp"

#include "base/try.hpp"
#include "memory/repository/rows.hpp"

namespace holdfast::memory::domain {

Result<Answer<Session>> open_session(WriteContext& context, const Session& given) {
    Answer<Session> opened{given};
    HF_TRY(added, add_session(context, opened.value));
    return opened;
}

Result<Answer<std::vector<std::string>>> close_session(WriteContext& context, const std::string& id,
                                                       std::int64_t at) {
    using Closed = Answer<std::vector<std::string>>;
    HF_TRY(session, find_session(context.database, id));
    if (!*session)
        return Closed{.refusal = no_session(id)};
    HF_TRY(open, open_episode_ids(context.database, (*session)->row));
    HF_TRY(closed, memory::close_session(context, (*session)->row, at));
    return Closed{std::move(*open)};
}

Result<bool> is_visible(Database& database, std::string_view name_space, std::string_view session_id) {
    if (name_space.empty())
        return true;
    HF_TRY(session, find_session(database, session_id));
    return !*session || (*session)->name_space.empty() || (*session)->name_space == name_space;
}

Result<std::optional<Trace>> visible_trace(Database& database, std::string_view name_space,
                                           std::string_view id) {
    auto trace = find_trace(database, id);
    if (!trace || !*trace)
        return trace;
    HF_TRY(visible, is_visible(database, name_space, (*trace)->session_id));
    return *visible ? std::move(*trace) : std::nullopt;
}

Result<std::optional<Episode>> visible_episode(Database& database, std::string_view name_space,
                                               std::string_view id) {
    auto episode = find_episode(database, id);
    if (!episode || !*episode)
        return episode;
    HF_TRY(visible, is_visible(database, name_space, (*episode)->session_id));
    return *visible ? std::move(*episode) : std::nullopt;
}

} // namespace holdfast::memory::domain
