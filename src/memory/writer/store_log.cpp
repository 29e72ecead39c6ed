// A store whose write-ahead log is not what was written.
#include "memory/writer/store.hpp"

#include "base/text.hpp"

namespace holdfast::memory {

using base::cat;
using database::LogState;
using database::LogWatch;

std::string Store::log_loss() const {
    const std::lock_guard lock(loss_mutex_);
    return log_loss_;
}

bool Store::has_its_log() {
    if (log_lost_)
        return false;
    if (refuse_all_ || log_.look() == LogState::sound)
        return true;
    const std::lock_guard lock(queue_mutex_);
    log_in_doubt_ = true;
    queue_changed_.notify_one();
    return false;
}

void Store::fenced_by_what_was_found() {
    refuse_all_ = true;
    if (!fenced_.exchange(true) && options_.on_fenced)
        options_.on_fenced();
}

// On the writer thread, or when there is none. Each commit pays for two looks. The one before asks for the
// database, since pages must not come to lie beside one that somebody put there, and for the size of the log:
// a piece that is missing in its middle cannot be seen once the commit is written behind it. The one after
// asks for the log alone, and reads its beginning: what was written into an emptied one is not answered, and
// can still be saved.
Result<void> Store::need_own_files(Look look) {
    if (!log_lost_ && !refuse_all_) {
        const auto state =
            log_.look(look == Look::before_commit ? LogWatch::Part::place : LogWatch::Part::all);
        // The log of a database that was taken away went with it, and what lies at its place is another
        // owner's.
        if ((look != Look::after_commit || state != LogState::sound) && !in_place())
            fenced_by_what_was_found();
        else if (state != LogState::sound)
            lose_log(state);
    }
    if (log_lost_)
        return fail(Errc::superseded, log_loss());
    if (!refuse_all_)
        return {};
    return fail(Errc::superseded,
                in_place() ? "this process no longer owns the memory store. Connect to the one that does"
                           : cat("the database ", options_.path,
                                 " was moved or replaced while this process had it open"));
}

void Store::lose_log(LogState state) {
    log_lost_ = true;
    // Nobody may be copying a log back while it is judged what of it has been copied.
    const std::lock_guard copying(copying_mutex_);
    auto text = save_from_log(writer_, log_, state, options_.path, unsaved_, options_.save_rows);
    {
        const std::lock_guard lock(loss_mutex_);
        log_loss_ = std::move(text);
    }
    fenced_by_what_was_found();
}

} // namespace holdfast::memory
