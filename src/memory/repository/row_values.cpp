#include "memory/repository/row_values.hpp"

namespace holdfast::memory {

Trace trace_of(const Statement& row) {
    Trace trace;
    trace.row = row.integer(0);
    trace.id = row.string(1);
    trace.session_row = row.integer(2);
    trace.episode_row = row.integer(3);
    trace.session_id = row.string(4);
    trace.episode_id = row.string(5);
    trace.ts = row.integer(6);
    trace.kind = row.string(7);
    trace.user_text = row.string(8);
    trace.agent_text = row.string(9);
    trace.thinking = row.string(10);
    trace.reflection = row.string(11);
    trace.summary = row.string(12);
    trace.tags = row.string(13);
    trace.tool_calls = row.string(14);
    trace.meta = row.string(15);
    trace.turn_id = row.string(16);
    trace.value = row.real(17);
    trace.priority = row.real(18);
    return trace;
}

Session session_of(const Statement& row) {
    return {row.integer(0), row.string(1),  row.string(2), row.string(3),
            row.string(4),  row.integer(5), row.integer(6)};
}

Episode episode_of(const Statement& row) {
    return {row.integer(0), row.string(1), row.integer(2), row.string(3),  row.integer(4),
            row.integer(5), row.string(6), row.string(7),  row.integer(8), row.string(9)};
}

Feedback feedback_row(const Statement& row, int first) {
    return {row.string(first),     row.string(first + 1), row.string(first + 2),
            row.string(first + 3), row.string(first + 4), row.real(first + 5),
            row.string(first + 6), row.string(first + 7), row.integer(first + 8)};
}

const char* table_of(ObjectKind kind) {
    switch (kind) {
    case ObjectKind::policy:
        return "policies";
    case ObjectKind::world_model:
        return "world_models";
    case ObjectKind::skill:
        return "skills";
    }
    return "policies";
}

StoredObject object_of(const Statement& row, ObjectKind kind) {
    return {row.integer(0), row.string(1), kind,           row.string(2),  row.string(3),
            row.string(4),  row.string(5), row.integer(6), row.integer(7), row.integer(8)};
}

} // namespace holdfast::memory
