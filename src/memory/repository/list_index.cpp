#include "memory/repository/list_index.hpp"

#include "memory/text/list_words.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace holdfast::memory {

namespace {

// The tokenizer has no state; FTS5 only wants something to hold.
int make(void*, const char**, int, Fts5Tokenizer** tokenizer) {
    static char nothing;
    *tokenizer = reinterpret_cast<Fts5Tokenizer*>(&nothing);
    return SQLITE_OK;
}

void unmake(Fts5Tokenizer*) {}

// The index keeps of each row which words it has, not how often. So a long text need not give FTS5 a word
// twice, which costs it more than all else. Each word has one place here, by its hash; a word that another
// one has driven out is given again, which does no harm.
class GivenWords {
public:
    explicit GivenWords(std::size_t text_size)
        : words_(text_size >= long_text ? places : 0) {}
    // Whether the word may be left out. Remembers it.
    bool known(std::string_view word) {
        if (words_.empty() || word.size() > longest)
            return false;
        std::uint32_t hash = 0x811c9dc5U;
        for (const char c : word)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
        auto& place = words_[(hash ^ (hash >> 15U)) % places];
        if (std::string_view(place.data(), longest + 1).starts_with(word) && place[word.size()] == '\0')
            return true;
        place = {};
        std::ranges::copy(word, place.begin());
        return false;
    }

private:
    static constexpr std::size_t long_text = std::size_t{16} << 10;
    static constexpr std::size_t longest = 23; // bytes of a word that is remembered
    static constexpr std::size_t places = 32'768;
    std::vector<std::array<char, longest + 1>> words_;
};

// A word of a query comes as wanted_words() made it: a pair there is one word, without the character behind
// it.
int tokenize(Fts5Tokenizer*, void* context, int purpose, const char* text, int size,
             int (*token)(void*, int, const char*, int, int, int)) {
    int result = SQLITE_OK;
    bool enough = false;
    GivenWords given(purpose == FTS5_TOKENIZE_DOCUMENT ? static_cast<std::size_t>(std::max(size, 0)) : 0);
    if (size > 0)
        list_words({text, static_cast<std::size_t>(size)},
                   [&](std::string_view word, std::size_t begin, std::size_t end) {
                       if (result == SQLITE_OK && !enough && !given.known(word))
                           result = token(context, 0, word.data(), static_cast<int>(word.size()),
                                          static_cast<int>(begin), static_cast<int>(end));
                       enough = (purpose & FTS5_TOKENIZE_QUERY) != 0;
                   });
    return result;
}

std::string_view text_of(sqlite3_value* value) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
    return text == nullptr ? std::string_view()
                           : std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

void has_words_function(sqlite3_context* context, int, sqlite3_value** values) {
    const auto wanted = wanted_words(text_of(values[1]));
    sqlite3_result_int(context, !wanted.empty() && has_words(text_of(values[0]), wanted) ? 1 : 0);
}

// As FTS5 hands itself out.
fts5_api* api_of(sqlite3* database) {
    fts5_api* api = nullptr;
    sqlite3_stmt* ask = nullptr;
    if (sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &ask, nullptr) == SQLITE_OK) {
        sqlite3_bind_pointer(ask, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
        sqlite3_step(ask);
    }
    sqlite3_finalize(ask);
    return api;
}

} // namespace

Result<void> add_list_words(sqlite3* database) {
    fts5_api* api = api_of(database);
    fts5_tokenizer tokenizer{make, unmake, tokenize};
    if (api == nullptr ||
        api->xCreateTokenizer(api, "list_words", nullptr, &tokenizer, nullptr) != SQLITE_OK ||
        sqlite3_create_function_v2(database, "has_words", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                   has_words_function, nullptr, nullptr, nullptr) != SQLITE_OK)
        return fail(Errc::io, "SQLite does not take the words of lists");
    return {};
}

} // namespace holdfast::memory
