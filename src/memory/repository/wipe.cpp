#include "memory/repository/wipe.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::int64_t step_pages = 128;

} // namespace

Result<void> mark_forgotten(Database& database) {
    return database.exec("INSERT INTO settings(name, value) VALUES('forgotten', '1') ON CONFLICT DO NOTHING");
}

Result<void> Wipe::look(Database& database) {
    auto marked = database.scalar("SELECT count(*) FROM settings WHERE name='forgotten'");
    if (!marked)
        return std::unexpected(std::move(marked.error()));
    if (*marked > 0)
        ask();
    return {};
}

Result<void> Wipe::step(Database& database) {
    next_ = stage_;
    switch (stage_) {
    case Stage::begin_merge:
    case Stage::merge:
        return merge(database);
    case Stage::fill:
        return fill(database);
    case Stage::give_back:
        next_ = Stage::empty_log;
        return database.exec("DELETE FROM settings WHERE name GLOB 'zeros.*'");
    case Stage::unmark:
        next_ = Stage::none;
        return database.exec("DELETE FROM settings WHERE name='forgotten'");
    case Stage::none:
    case Stage::empty_log:
        break;
    }
    return {};
}

// FTS5 notes a deletion as one more entry beside the old one; both go when the segments that hold them are
// merged into the oldest. Its 'secure-delete' would do it at once, but came with SQLite 3.42, and what it
// writes cannot be read by those before. 'optimize' does it in one transaction, however long; 'merge' with a
// negative number begins the same, and a positive one goes on with it.
Result<void> Wipe::merge(Database& database) {
    const auto before = database.total_changes();
    const auto pages = stage_ == Stage::begin_merge ? -step_pages : step_pages;
    if (auto merged =
            database.exec(cat("INSERT INTO traces_words(traces_words, rank) VALUES('merge', ", pages, ")"));
        !merged)
        return merged;
    // As FTS5 says it: fewer than two changes, and there was nothing left to merge.
    const bool done = database.total_changes() - before < 2;
    next_ = stage_ == Stage::begin_merge || !done ? Stage::merge : Stage::fill;
    return {};
}

// Free pages keep what was on them until they are used again: so they are used, for zeros, and given back.
Result<void> Wipe::fill(Database& database) {
    auto free = database.scalar("PRAGMA freelist_count");
    if (!free)
        return std::unexpected(std::move(free.error()));
    auto page_size = database.scalar("PRAGMA page_size");
    if (!page_size)
        return std::unexpected(std::move(page_size.error()));
    if (*free == 0) {
        next_ = Stage::give_back;
        return {};
    }
    // A page of a long value begins with four bytes of its own. What does not fill a page stays beside the
    // name (an eighth of a page and somewhat more), so that no page is left half as it was.
    const auto zeros = std::min(*free, step_pages) * (*page_size - 4) + *page_size / 8;
    return database.exec(cat("INSERT INTO settings(name, value) SELECT 'zeros.' || (count(*) + 1), zeroblob(",
                             zeros, ") FROM settings WHERE name GLOB 'zeros.*'"));
}

} // namespace holdfast::memory
