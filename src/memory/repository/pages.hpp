// Lists for looking through the memory: newest first, a page at a time, each page by an index, never by an
// offset.
#pragma once

#include "memory/repository/connection.hpp"
#include "memory/repository/model.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::memory {

// A place in a list that is ordered by (time, row).
struct Place {
    std::int64_t time = INT64_MAX;
    std::int64_t row = INT64_MAX;
};

template <class Entry>
struct Page {
    std::vector<Entry> entries;
    std::optional<Place> next; // of the last entry, when there are more behind it
};

struct ListedSession {
    Session session;
    bool closed = false;
    std::int64_t episodes = 0;
    std::int64_t turns = 0;
    std::optional<std::int64_t> last_ts;
};
Result<Page<ListedSession>> session_page(Database& database, const Place& before, std::int64_t limit);

struct ListedEpisode {
    Episode episode;
    std::string agent;
    bool closed = false;
    std::optional<std::string> title; // of its first trace: the summary, or the beginning of a text
    std::optional<std::int64_t> last_ts;
};
// `session_row`: 0: of all sessions.
Result<Page<ListedEpisode>> episode_page(Database& database, const Place& before, std::int64_t limit,
                                         std::int64_t session_row);

struct ListedFeedback {
    Feedback feedback;
    std::optional<std::string> summary; // of the trace that it is about
};
// In the order in which it was given: of a place only the row counts.
Result<Page<ListedFeedback>> feedback_page(Database& database, const Place& before, std::int64_t limit);

// The traces of an episode, the oldest first, without the first `skip`. A page ends, too, behind the trace
// whose texts bring it over `most_bytes`.
Result<Page<Trace>> trace_page(Database& database, std::int64_t episode_row, const Place& after,
                               std::int64_t skip, std::int64_t limit, std::size_t most_bytes);

} // namespace holdfast::memory
