// The store as JSON lines, one object a line:
// {"type":"session"|"episode"|"trace"|"feedback"|"policy"|"worldModel"|"skill", …}.
//
// What is exported and imported again is the same, line for line; what is imported twice is there once (by
// its id; a line without an id gets one from its content). A trace may name a session or an episode that is
// not there: both are made.
#pragma once

#include "memory/text/cleaner.hpp"
#include "memory/writer/store.hpp"

#include "json/json.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::memory {

enum class Fate { stored, present, refused };
struct Outcome {
    Fate fate = Fate::stored;
    std::string reason; // why it was refused
};

// What becomes of a row of the same id that is there.
enum class SameId : std::uint8_t {
    kept,    // whatever the record says of it
    replaced // by what the record says; `present` when that is what is there. Feedback never changes
};
// Stores one record. An error is of the store, and ends the transaction; a record that is off is an outcome.
Result<Outcome> store_record(WriteContext& context, const json::object& record, const Cleaner& clean,
                             SameId same_id = SameId::kept);

// Why a record of that kind would be refused; empty: it would not. Nothing is stored.
std::string reason_to_refuse(const json::object& record);

// Rows of a damaged database that are not exported, or not as they were stored.
struct DamagedRows {
    std::string table;
    std::int64_t first = 0;
    std::int64_t last = 0; // none_after (damage.hpp): up to the end of the table
    bool left_out = true;  // false: exported, changed as `why` says
    std::string why;
};
// "table traces, rows 100 to 109: not exported (the reason)"
std::string in_words(const DamagedRows& rows);

struct ExportPage {
    std::string lines;      // whole lines, each with its newline
    std::string next;       // where to go on; empty: that was all
    std::int64_t count = 0; // of the lines
    // The row after `next` could not be read: the database is damaged there. The lines before it are whole.
    std::optional<Error> trouble;
    std::vector<DamagedRows> damaged; // with OnDamage::leave_out
};

enum class OnDamage : std::uint8_t {
    stop,      // the first row that cannot be exported as it was stored is trouble
    leave_out, // it is named, and the next one that can be read follows. What is exported can be imported
};

// The lines after `cursor` (empty: from the beginning), about a megabyte at a time. Rows that come while it
// runs are part of it, and with them the session and the episode they belong to.
Result<ExportPage> export_page(Database& database, const std::string& cursor,
                               OnDamage on_damage = OnDamage::stop);

// What of it can be read, into a file (log_loss.hpp says what is in it).
Result<SavedRows> save_unsaved(Database& database, const Unsaved& unsaved, int fd);
// The other way: the lines of such a file into the store; how many changed it. Those that are off are left
// out.
Result<std::int64_t> bring_back_rows(Store& store, const std::string& path);

// How many bytes of lines a page has before it is closed.
inline constexpr std::size_t export_page_bytes = std::size_t{1} << 20;

} // namespace holdfast::memory
