// Traces as a search reads them: many of them one after the other, or of one just what is asked for. A text
// that is handed over as a view is valid until the function that was given it returns.
#pragma once

#include "memory/repository/connection.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory {

// The number that the next trace gets: all that are there have lower ones.
Result<std::int64_t> next_trace_row(Database& database);
Result<std::int64_t> count_traces_from(Database& database, std::int64_t row);

struct TracePlace {
    std::int64_t row = 0;
    std::int64_t session_row = 0;
    std::int64_t ts = 0;
};
Result<std::optional<TracePlace>> place_of_trace(Database& database, std::int64_t row);
// All of them, until `visit` returns false.
Result<void> visit_places(Database& database, const std::function<bool(const TracePlace&)>& visit);
// The rows of an episode, in their order; of one with more than `most`, the latest.
Result<std::vector<std::int64_t>> trace_rows_in(Database& database, std::int64_t episode_row,
                                                std::int64_t most);

struct IndexedTexts {
    TracePlace place;
    std::string_view user_text;
    std::string_view agent_text;
    std::string_view reflection;
    std::string_view tags;
    std::string_view tool_calls;
};
// Up to `limit` traces from that row on. Whether there was any. Those before one that cannot be read are
// visited, then comes the error.
Result<bool> visit_indexed_texts(Database& database, std::int64_t from, std::int64_t limit,
                                 const std::function<void(const IndexedTexts&)>& visit);
// After that error: the last of the rows behind `after` that cannot be read (damage.hpp).
Result<std::int64_t> last_unreadable_texts(Database& database, std::int64_t after, std::int64_t limit);

// What was said, of up to `limit` traces behind that row.
using VisitSaid =
    std::function<void(std::int64_t row, std::string_view user_text, std::string_view agent_text)>;
Result<void> visit_said(Database& database, std::int64_t after, std::int64_t limit, const VisitSaid& visit);

// What a hit is ranked and shown by. It is read without its session and its episode: where those are damaged,
// the trace is found all the same.
struct RankedTrace {
    std::string id;
    std::int64_t ts = 0;
    std::string user_text;
    std::string agent_text;
    double value = 0;
    double priority = 0;
    std::int64_t episode_row = 0;
    std::int64_t session_row = 0;
};
Result<std::optional<RankedTrace>> ranked_trace(Database& database, std::int64_t row);

struct TraceDetails {
    std::string reflection;
    std::string tags;
    std::string tool_calls;
};
Result<std::optional<TraceDetails>> trace_details(Database& database, std::int64_t row);

// Empty: there is none.
Result<std::string> session_id_at(Database& database, std::int64_t row);
Result<std::string> episode_id_at(Database& database, std::int64_t row);

// Whose session it is.
struct SessionScope {
    std::string agent;
    std::string name_space;
};
Result<std::optional<SessionScope>> session_scope(Database& database, std::int64_t row);

} // namespace holdfast::memory
