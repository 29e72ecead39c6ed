// Sessions and episodes.
#include "memory/contract/contract_writing.hpp"
#include "memory/domain/episodes.hpp"
#include "memory/domain/sessions.hpp"
#include "memory/ids/ids.hpp"

#include <vector>

namespace holdfast::memory {

namespace {

void closed(const CallPointer& call, const std::string& episode_id) {
    call->contract().notify("episode.closed", {{"episodeId", episode_id}});
    summarize(call, episode_id);
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
    change(
        call, [given](WriteContext& context) { return domain::open_session(context, given); },
        [call](const Session& session) {
            call->answer(json::object{{"sessionId", session.id}});
            call->contract().notify("session.opened", {{"sessionId", session.id}, {"agent", session.agent}});
        });
}

void session_close(const CallPointer& call) {
    const auto id = call->word("sessionId", true);
    if (call->bad())
        return;
    change(
        call, [id](WriteContext& context) { return domain::close_session(context, id, now_ms()); },
        [call, id](const std::vector<std::string>& episodes) {
            call->answer(json::object{{"ok", true}});
            for (const auto& episode : episodes)
                closed(call, episode);
            call->contract().notify("session.closed", {{"sessionId", id}});
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
    change(
        call,
        [session_id, given](WriteContext& context) {
            return domain::open_episode(context, session_id, given);
        },
        [call](const Episode& episode) {
            call->answer(json::object{{"episodeId", episode.id}});
            call->contract().notify("episode.opened", {{"episodeId", episode.id}});
        });
}

void episode_close(const CallPointer& call) {
    const auto id = call->word("episodeId", true);
    if (call->bad())
        return;
    change(
        call, [id](WriteContext& context) { return domain::close_episode(context, id, now_ms()); },
        [call, id](bool was_open) {
            call->answer(json::object{{"ok", true}});
            if (was_open)
                closed(call, id);
        });
}

} // namespace holdfast::memory
