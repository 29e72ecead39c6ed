// Notes: traces that belong to no turn. A person writes one, or a model sums up an episode.
#pragma once

#include "memory/domain/answer.hpp"
#include "memory/repository/write_context.hpp"

#include <string>

namespace holdfast::memory::domain {

struct StoredNote {
    std::string trace_id;
    std::string episode_id;
    std::string session_id;
};
// Into the session of notes, when `session` has no id; made when it is not there.
Result<Answer<StoredNote>> add_note(WriteContext& context, const Trace& note, const Session& session);

// Into the episode that it sums up; nowhere when that is gone meanwhile. The id of the note.
Result<Answer<std::string>> keep_summary(WriteContext& context, const Trace& note,
                                         const std::string& episode_id);

} // namespace holdfast::memory::domain
