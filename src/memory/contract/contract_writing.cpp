#include "memory/contract/contract_writing.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "memory/store/ids.hpp"
#include "json/json_write.hpp"

#include <algorithm>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::int64_t episode_idle_ms = 2LL * 3600 * 1000; // a pause this long begins a new episode

// A turn may get its user's text from another line, and be longer than any line: exported, it could not be
// imported again. Text grows at most sixfold as JSON, so of most turns that is known without looking.
std::optional<Refusal> too_long(const Trace& trace) {
    constexpr std::size_t most = (std::size_t{31} << 20) - 2048; // of what the importing side takes
    const auto size = trace.user_text.size() + trace.agent_text.size() + trace.thinking.size() +
                      trace.reflection.size() + trace.tool_calls.size() + trace.meta.size();
    if (size < most / 8 || json::to_text(to_json(trace)).size() <= most)
        return std::nullopt;
    return Refusal{"invalid_argument", "the turn with its user's text is longer than 30 MiB"};
}

} // namespace

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

std::string summary_of(const std::string& user_text, const std::string& agent_text) {
    const std::string& text = user_text.empty() ? agent_text : user_text;
    return std::string(base::cut_at_character(text, std::min<std::size_t>(text.find('\n'), 160)));
}

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

} // namespace holdfast::memory
