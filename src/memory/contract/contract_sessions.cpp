// Sessions and episodes.
#include "memory/contract/contract_writing.hpp"

#include "memory/store/ids.hpp"

namespace holdfast::memory {

namespace json = boost::json;

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

} // namespace holdfast::memory
