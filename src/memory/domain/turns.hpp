// Turns: their beginning, which finds the episode they belong to, and their end, which is stored. The work of
// a subagent is stored as a turn is.
#pragma once

#include "memory/domain/answer.hpp"
#include "memory/repository/write_context.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace holdfast::memory::domain {

// The first line of what was said, as far as a list shows it.
std::string summary_of(const std::string& user_text, const std::string& agent_text);

// What was said, as a trace under an id of its own. `kind`: turn, subagent or note.
Trace new_trace(std::string kind, std::int64_t ts, Trace said);

struct TurnStart {
    Session session;        // made, or opened again
    std::string episode_id; // the one that was given, or what a new one is called
    bool episode_given = false;
    std::int64_t ts = 0;
    std::string user_text;
    std::string turn_key;
};
// The client may be told of an episode before the episode is stored, and then that is the one it must be. So
// this is asked before an episode is made (with an empty id), and told each one that was found. It answers
// with the id that the client was told by then; empty: none.
using AgreeOnEpisode = std::function<std::string(const std::string& found)>;
// Keeps what the user said in the episode, for the turn's end. The id of the episode.
Result<Answer<std::string>> begin_turn(WriteContext& context, const TurnStart& start,
                                       const AgreeOnEpisode& agree);

struct EndedTurn {
    Trace trace;
    bool user_text_said = true; // false: it is what was said at the turn's beginning
};
struct StoredTrace {
    std::string trace_id;
    std::string episode_id;
};
// How many bytes a trace has as a line of an export: one that is too long could not be imported again.
using LineSize = std::size_t (*)(const Trace& trace);
// Stores it in an episode of a session, both of which must exist. Without an episode it goes into the current
// one. A turn that is there already, from a client that asks again after a lost answer, is answered with that
// one.
Result<Answer<StoredTrace>> end_turn(WriteContext& context, const EndedTurn& turn, LineSize line_size);

// Deletes a trace; its words are made unreadable in the files soon after (wipe.hpp).
Result<Answer<bool>> forget(WriteContext& context, const std::string& id);

} // namespace holdfast::memory::domain
