// What SQLite needs of us to keep and to search the words of lists (list_words.hpp).
#pragma once

#include "holdfast/result.hpp"

struct sqlite3;

namespace holdfast::memory {

// Gives the connection the FTS5 tokenizer "list_words", and the function has_words(text, typed): 1 when the
// text has all words that were typed. Reads nothing from the database.
Result<void> add_list_words(sqlite3* database);

} // namespace holdfast::memory
