#include "memory/repository/verify.hpp"

#include "base/text.hpp"
#include "memory/repository/schema.hpp"
#include "memory/repository/statements.hpp"

namespace holdfast::memory {

using base::cat;

namespace {

Result<WordShape> shape_of_words(Database& database) {
    HF_PREPARE(parts, database,
               "SELECT name || ' ' || sql FROM sqlite_schema WHERE name GLOB 'traces_words*'"
               " AND (type='trigger' OR name='traces_words') ORDER BY name");
    return collect(**parts, [](const Statement& row) { return row.string(0); });
}

} // namespace

Result<std::vector<std::string>> integrity_problems(Database& database) {
    HF_PREPARE(check, database, "PRAGMA integrity_check(20)");
    const ScopedReset reset(**check);
    std::vector<std::string> problems;
    for (;;) {
        auto row = (*check)->step();
        if (!row)
            problems.push_back(row.error().message);
        if (!row || !*row)
            return problems;
        if ((*check)->text(0) != "ok")
            problems.push_back((*check)->string(0));
    }
}

// In a database of its own.
Result<WordShape> right_word_shape() {
    auto model = open_database(":memory:", OpenMode::read_write_create);
    if (!model)
        return std::unexpected(std::move(model.error()));
    if (auto made = migrate(*model, "", migrations(), [](int, int, const char*) {}); !made)
        return std::unexpected(std::move(made.error()));
    return shape_of_words(*model);
}

Result<bool> words_agree(Database& database, const WordShape& right) {
    auto shape = shape_of_words(database);
    if (!shape)
        return std::unexpected(std::move(shape.error()));
    if (*shape != right)
        return false;
    // The rank column 1 makes FTS5 compare its words with the text of the content table, row by row.
    auto compared =
        database.exec("INSERT INTO traces_words(traces_words, rank) VALUES('integrity-check', 1)");
    if (!compared)
        return std::unexpected(std::move(compared.error()));
    return true;
}

// Where FTS5 cannot even begin to read its tables it refuses to drop them, and every write with them. So they
// are taken out of the schema as plain tables.
Result<void> make_words_anew(Database& database) {
    std::string away =
        "DROP TRIGGER IF EXISTS traces_words_insert;DROP TRIGGER IF EXISTS traces_words_delete;"
        "DROP TRIGGER IF EXISTS traces_words_update;PRAGMA writable_schema=ON;"
        "DELETE FROM sqlite_schema WHERE name='traces_words';PRAGMA writable_schema=RESET;";
    for (const char* part : {"data", "idx", "config", "docsize", "content"})
        away += cat("DROP TABLE IF EXISTS traces_words_", part, ";");
    auto done = database.exec(away + full_text_index());
    if (!done) // not left on by a step that failed
        (void)database.exec("PRAGMA writable_schema=RESET");
    return done;
}

} // namespace holdfast::memory
