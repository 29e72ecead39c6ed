// What can be verified of the database, and made anew: the index of words is made from the text alone.
#pragma once

#include "memory/repository/connection.hpp"

#include <string>
#include <vector>

namespace holdfast::memory {

// What SQLite finds wrong with the file, at most twenty; empty: it is sound.
Result<std::vector<std::string>> integrity_problems(Database& database);

// The table of the words and its triggers, as they were written down.
using WordShape = std::vector<std::string>;
// As this version makes them.
Result<WordShape> right_word_shape();
// Whether the index of words has that shape. An error, too, when it has, and not the words of the text.
Result<bool> words_agree(Database& database, const WordShape& right);
// To be called in a transaction that nobody shares. Connections that are open know the old tables.
Result<void> make_words_anew(Database& database);

} // namespace holdfast::memory
