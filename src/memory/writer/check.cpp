// What can be verified of a store, and repaired: its index of words is made from the text alone.
#include "base/text.hpp"
#include "database/row_reading.hpp"
#include "memory/repository/schema.hpp"
#include "memory/writer/store.hpp"

#include <sqlite3.h>

namespace holdfast::memory {

using base::cat;

namespace {

// The table and its triggers, as they were written down.
Result<std::vector<std::string>> shape_of_words(Database& database) {
    HF_PREPARE(parts, database,
               "SELECT name || ' ' || sql FROM sqlite_schema WHERE name GLOB 'traces_words*'"
               " AND (type='trigger' OR name='traces_words') ORDER BY name");
    return collect(**parts, [](const Statement& row) { return row.string(0); });
}

// As this version makes them, in a database of its own.
Result<std::vector<std::string>> right_shape() {
    auto model = open_database(":memory:", OpenMode::read_write_create);
    if (!model)
        return std::unexpected(std::move(model.error()));
    if (auto made = migrate(*model, "", migrations(), [](int, int, const char*) {}); !made)
        return std::unexpected(std::move(made.error()));
    return shape_of_words(*model);
}

// Not the index, but what is around it: whoever asked can do something about that, and asks again.
bool is_elsewhere(const Error& error) {
    return error.code == Errc::no_space || error.code == Errc::held || error.code == Errc::superseded ||
           error.code == Errc::not_permitted || error.code == Errc::cancelled || error.code == Errc::closed;
}

Result<bool> words_are_sound(Store& store) {
    auto right = right_shape();
    if (!right)
        return std::unexpected(std::move(right.error()));
    bool whole = false;
    // The rank column 1 makes FTS5 compare its words with the text of the content table, row by row.
    auto compared = store.write([&](WriteContext& context) -> Result<void> {
        auto shape = shape_of_words(context.database);
        if (!shape)
            return std::unexpected(std::move(shape.error()));
        whole = *shape == *right;
        if (!whole)
            return {};
        return context.database.exec(
            "INSERT INTO traces_words(traces_words, rank) VALUES('integrity-check', 1)");
    });
    if (!compared && is_elsewhere(compared.error()))
        return std::unexpected(std::move(compared.error()));
    return compared && whole;
}

// Where FTS5 cannot even begin to read its tables it refuses to drop them, and every write with them. So they
// are taken out of the schema as plain tables.
Result<void> make_words_anew(Store& store) {
    auto made = store.write(
        [](WriteContext& context) -> Result<void> {
            std::string away =
                "DROP TRIGGER IF EXISTS traces_words_insert;DROP TRIGGER IF EXISTS traces_words_delete;"
                "DROP TRIGGER IF EXISTS traces_words_update;PRAGMA writable_schema=ON;"
                "DELETE FROM sqlite_schema WHERE name='traces_words';PRAGMA writable_schema=RESET;";
            for (const char* part : {"data", "idx", "config", "docsize", "content"})
                away += cat("DROP TABLE IF EXISTS traces_words_", part, ";");
            auto done = context.database.exec(away + full_text_index());
            if (!done) // not left on by a step that failed
                (void)context.database.exec("PRAGMA writable_schema=RESET");
            return done;
        },
        Store::Company::alone);
    store.shape_changed();
    return made;
}

} // namespace

Result<CheckReport> check_store(Store& store, bool rebuild) {
    CheckReport report;
    {
        auto reader = store.reader();
        if (!reader)
            return std::unexpected(std::move(reader.error()));
        auto check = (*reader)->prepare("PRAGMA integrity_check(20)");
        if (!check)
            return std::unexpected(std::move(check.error()));
        const ScopedReset reset(**check);
        for (;;) {
            auto row = (*check)->step();
            if (!row) {
                report.problems.push_back(row.error().message);
                break;
            }
            if (!*row)
                break;
            if ((*check)->text(0) != "ok")
                report.problems.push_back((*check)->string(0));
        }
    }
    if (!report.problems.empty())
        return report;
    auto sound = words_are_sound(store);
    if (!sound)
        return std::unexpected(std::move(sound.error()));
    report.index_sound = *sound;
    if (*sound && !rebuild)
        return report;
    if (auto made = make_words_anew(store); !made)
        return std::unexpected(std::move(made.error()));
    report.index_repaired = !*sound;
    return report;
}

} // namespace holdfast::memory
