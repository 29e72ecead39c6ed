// Sessions and episodes.
#include "memory/contract/contract_writing.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"

#include <vector>

namespace holdfast::memory {

using base::cat;

namespace {

Result<std::vector<std::string>> open_episodes_of(Database& database, std::int64_t session_row) {
    auto open =
        database.prepare("SELECT id FROM episodes WHERE session=?1 AND closed_at IS NULL ORDER BY row");
    if (!open)
        return std::unexpected(std::move(open.error()));
    (*open)->bind(1, session_row);
    const ScopedReset reset(**open);
    std::vector<std::string> ids;
    for (;;) {
        auto row = (*open)->step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (!*row)
            return ids;
        ids.push_back((*open)->string(0));
    }
}

// An episode that is opened by its id is open, whatever it was, and goes on with what is said now.
Result<void> open_again(WriteContext& context, const Episode& episode, const std::string& user_message) {
    if (episode.closed_at != 0) {
        auto open = context.database.prepare("UPDATE episodes SET closed_at=NULL WHERE row=?1");
        if (!open)
            return std::unexpected(std::move(open.error()));
        if (auto done = (*open)->bind(1, episode.row).run(); !done)
            return done;
    }
    return user_message.empty() ? Result<void>()
                                : set_pending(context, episode.row, user_message, episode.turn_key);
}

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
    auto open_episodes = std::make_shared<std::vector<std::string>>();
    change(
        call,
        [id, open_episodes](WriteContext& context, Refusal& refusal) -> Result<void> {
            auto session = find_session(context.database, id);
            if (!session)
                return std::unexpected(std::move(session.error()));
            if (!*session) {
                refusal = no_session(id);
                return {};
            }
            auto open = open_episodes_of(context.database, (*session)->row);
            if (!open)
                return std::unexpected(std::move(open.error()));
            *open_episodes = std::move(*open);
            return close_session(context, (*session)->row, now_ms());
        },
        [call, id, open_episodes] {
            call->answer(json::object{{"ok", true}});
            for (const auto& episode : *open_episodes)
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
            if (auto added = add_episode(context, *episode); !added)
                return added;
            if (episode->session_row != (*session)->row) {
                refusal = {"conflict", cat("the episode ", given.id, " belongs to another session")};
                return {};
            }
            return open_again(context, *episode, given.pending_user);
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
    auto was_open = std::make_shared<bool>(false);
    change(
        call,
        [id, was_open](WriteContext& context, Refusal& refusal) -> Result<void> {
            auto episode = find_episode(context.database, id);
            if (!episode)
                return std::unexpected(std::move(episode.error()));
            if (!*episode) {
                refusal = no_episode(id);
                return {};
            }
            *was_open = (*episode)->closed_at == 0;
            return close_episode(context, (*episode)->row, now_ms());
        },
        [call, id, was_open] {
            call->answer(json::object{{"ok", true}});
            if (*was_open)
                closed(call, id);
        });
}

} // namespace holdfast::memory
