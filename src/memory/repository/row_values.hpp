// Rows as values: which columns are read, and what they become. For the sources of this folder.
#pragma once

#include "memory/repository/model.hpp"
#include "memory/repository/statements.hpp"

namespace holdfast::memory {

#define HF_SESSION_COLUMNS "row, id, agent, namespace, meta, opened_at, closed_at"
Session session_of(const Statement& row);

#define HF_EPISODE_SELECT                                                                                    \
    "SELECT e.row, e.id, e.session, s.id, e.opened_at, e.closed_at, e.pending_user, e.turn_key, e.turns,"    \
    " e.meta FROM episodes e JOIN sessions s ON s.row = e.session "
Episode episode_of(const Statement& row);

#define HF_TRACE_TEXTS                                                                                       \
    "t.ts, t.kind, t.user_text, t.agent_text, t.thinking, "                                                  \
    "t.reflection, t.summary, t.tags, t.tool_calls, t.meta, t.turn_id, t.value, t.priority"
#define HF_TRACE_COLUMNS "t.row, t.id, t.session, t.episode, s.id, e.id, " HF_TRACE_TEXTS
#define HF_TRACE_JOIN                                                                                        \
    " FROM traces t JOIN sessions s ON s.row = t.session JOIN episodes e ON e.row = t.episode "
Trace trace_of(const Statement& row);

#define HF_FEEDBACK_COLUMNS "id, trace_id, episode_id, channel, polarity, magnitude, rationale, raw, ts"
// `first`: the column of the id; the others are behind it.
Feedback feedback_row(const Statement& row, int first = 0);

const char* table_of(ObjectKind kind);
#define HF_OBJECT_COLUMNS "row, id, title, body, status, data, created_at, updated_at, trials"
StoredObject object_of(const Statement& row, ObjectKind kind);

} // namespace holdfast::memory
