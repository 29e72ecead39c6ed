// The store as JSON lines, one object a line:
// {"type":"session"|"episode"|"trace"|"feedback"|"policy"|"worldModel"|"skill", …}.
//
// What is exported and imported again is the same, line for line; what is imported twice is there once (by
// its id; a line without an id gets one from its content). A trace may name a session or an episode that is
// not there: both are made.
#pragma once

#include "memory/store/store.hpp"
#include "memory/text/cleaner.hpp"

#include <boost/json.hpp>

#include <functional>
#include <optional>
#include <string>

namespace holdfast::memory {

enum class Fate { stored, present, refused };
struct Outcome {
    Fate fate = Fate::stored;
    std::string reason; // why it was refused
};

// Stores one record. An error is of the store, and ends the transaction; a record that is off is an outcome.
Result<Outcome> store_record(WriteContext& context, const boost::json::object& record, const Cleaner& clean);

struct ExportPage {
    std::string lines;      // whole lines, each with its newline
    std::string next;       // where to go on; empty: that was all
    std::int64_t count = 0; // of the lines
    // The row after `next` could not be read: the database is damaged there. The lines before it are whole.
    std::optional<Error> trouble;
};

// The lines after `cursor` (empty: from the beginning), about a megabyte at a time. Rows that come while it
// runs are part of it, and with them the session and the episode they belong to.
Result<ExportPage> export_page(Database& database, const std::string& cursor);

// Past trouble: the cursor `step` rows further on, or at the next kind when there are no more; empty when
// there is nothing left to try.
std::string step_over(Database& database, const std::string& cursor, std::int64_t step);

// How many bytes of lines a page has before it is closed.
inline constexpr std::size_t export_page_bytes = std::size_t{1} << 20;

} // namespace holdfast::memory
