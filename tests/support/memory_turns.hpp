// One turn into a store, without the service around it.
#pragma once

#include "memory/ids/ids.hpp"
#include "memory/repository/rows.hpp"
#include "memory/writer/store.hpp"

#include <string>

namespace holdfast::test {

// Its session and its episode are made when they are not there. Gives the trace's id.
inline Result<std::string> add_turn(memory::Store& store, const std::string& session_id,
                                    const std::string& text, std::int64_t ts, const char* agent = "test") {
    std::string id;
    auto done = store.write([&](memory::WriteContext& context) -> Result<void> {
        memory::Session session{.id = session_id, .agent = agent, .opened_at = ts};
        if (auto added = add_session(context, session); !added)
            return added;
        memory::Episode episode{.id = "ep_" + session_id, .session_row = session.row, .opened_at = ts};
        if (auto added = add_episode(context, episode); !added)
            return added;
        memory::Trace trace;
        trace.id = memory::make_id("tr_");
        trace.session_row = session.row;
        trace.episode_row = episode.row;
        trace.ts = ts;
        trace.kind = "turn";
        trace.user_text = text;
        auto added = add_trace(context, trace);
        id = trace.id;
        return added;
    });
    if (!done)
        return std::unexpected(done.error());
    return id;
}

} // namespace holdfast::test
