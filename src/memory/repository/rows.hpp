// Reading and writing the store's rows. Functions that change take a WriteContext and run inside its
// transaction; functions that read take any connection. What is not there is an empty optional, not an error.
#pragma once

#include "memory/repository/damage.hpp"
#include "memory/repository/model.hpp"
#include "memory/repository/write_context.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace holdfast::memory {

Result<std::optional<Session>> find_session(Database& database, std::string_view id);
Result<std::optional<Episode>> find_episode(Database& database, std::string_view id);
// The newest episode of a session that is not closed.
Result<std::optional<Episode>> open_episode_of(Database& database, std::int64_t session_row);
// All that are not closed, in the order in which they were opened.
Result<std::vector<std::string>> open_episode_ids(Database& database, std::int64_t session_row);
// The time of its last trace, and which one that is; nothing, and an empty id, when it has none.
Result<std::optional<std::int64_t>> last_time_in(Database& database, std::int64_t episode_row);
Result<std::string> last_trace_in(Database& database, std::int64_t episode_row);
Result<std::optional<Trace>> find_trace(Database& database, std::string_view id);
Result<std::optional<Trace>> trace_at(Database& database, std::int64_t row);
// The same without looking at its session and its episode: their ids are empty where they cannot be read.
Result<std::optional<Trace>> trace_alone_at(Database& database, std::int64_t row);
Result<std::vector<Trace>> timeline(Database& database, std::int64_t episode_row);

struct ListFilter {
    std::int64_t session_row = 0; // 0: all
    std::int64_t limit = 50;
    std::int64_t offset = 0;
    std::string words = {}; // as typed; every word must occur, the last one may be the beginning of a word
};
// Newest first.
Result<std::vector<Trace>> list_traces(Database& database, const ListFilter& filter);
Result<std::vector<std::string>> list_episode_ids(Database& database, const ListFilter& filter);
Result<std::vector<Session>> list_sessions(Database& database, std::int64_t limit, std::int64_t offset);
Result<std::vector<Feedback>> feedback_of(Database& database, std::string_view trace_id);

// Inserts, and fills in `row`. A session or episode of that id that exists is left as it is (its row is
// returned).
Result<void> add_session(WriteContext& context, Session& session);
Result<void> close_session(WriteContext& context, std::int64_t row, std::int64_t at);
// Inserts one, or makes the one of that id what `session` says; `row` is 0 when there is none.
Result<void> put_session(WriteContext& context, const Session& session);
Result<void> add_episode(WriteContext& context, Episode& episode);
Result<void> close_episode(WriteContext& context, std::int64_t row, std::int64_t at);
Result<void> reopen_episode(WriteContext& context, std::int64_t row);
// As put_session; one that is there stays in its session.
Result<void> put_episode(WriteContext& context, const Episode& episode);
Result<void> set_pending(WriteContext& context, std::int64_t episode_row, std::string_view user_text,
                         std::string_view turn_key);

// Stores a trace. The same one again (same episode, time and text: a client's retry after a lost answer)
// gives the id of the one that is there, and nothing is stored twice. A turn uses up what turn.start said;
// notes and the work of subagents leave it to the turn.
Result<void> add_trace(WriteContext& context, Trace& trace);
// For a turn whose client left out what the user said: whether it is there already, by its episode, time,
// answer and tool calls. Then `id` and `row` are those of the one that is there.
Result<bool> find_same_answer(WriteContext& context, Trace& trace);
// Stores a trace whose id is known to be new, as it is. `ends_turn`: what turn.start said is now part of it.
Result<void> insert_trace(WriteContext& context, Trace& trace, bool ends_turn = false);
// Changes the text of a trace: it gets a new row number, so that the ranked index sees it as new.
Result<void> replace_text(WriteContext& context, Trace& trace);
// Makes the one that is `there` what `trace` says, of the same id; whether that changed anything. With other
// words it gets a new row number.
Result<bool> rewrite_trace(WriteContext& context, const Trace& there, Trace& trace);
Result<bool> delete_trace(WriteContext& context, std::string_view id);

// Stores feedback as it is; false: one of that id is there already.
Result<bool> insert_feedback(WriteContext& context, const Feedback& feedback);
// The value of a trace, by `rate` (0..1) of the way to `goal`.
Result<void> move_value(WriteContext& context, std::string_view trace_id, double goal, double rate);

Result<std::optional<StoredObject>> find_object(Database& database, ObjectKind kind, std::string_view id);
Result<std::vector<StoredObject>> list_objects(Database& database, ObjectKind kind, std::string_view status,
                                               std::string_view like, std::int64_t limit,
                                               std::int64_t offset);
// Of a damaged table: those that can be read.
Result<std::vector<StoredObject>> readable_objects(Database& database, ObjectKind kind, std::int64_t limit,
                                                   const PassedOver& passed_over);
Result<void> put_object(WriteContext& context, StoredObject& object);
Result<void> set_trials(WriteContext& context, const StoredObject& object); // put_object leaves them
Result<bool> archive_object(WriteContext& context, ObjectKind kind, std::string_view id, std::int64_t at);
Result<bool> record_trial(WriteContext& context, std::string_view skill_id);

} // namespace holdfast::memory
