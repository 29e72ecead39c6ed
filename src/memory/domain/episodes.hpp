// Episodes: when one begins, is closed, and is opened again.
#pragma once

#include "memory/domain/answer.hpp"
#include "memory/repository/write_context.hpp"

#include <cstdint>
#include <string>

namespace holdfast::memory::domain {

// A pause this long begins a new episode.
inline constexpr std::int64_t episode_idle_ms = 2LL * 3600 * 1000;
// Notes of half a day belong together.
inline constexpr std::int64_t note_episode_ms = 12LL * 3600 * 1000;

// The open episode of a session. A new one, with the id `fresh_id`, when there is none, or its last turn was
// `episode_idle_ms` ago.
Result<Episode> current_episode(WriteContext& context, const Session& session, std::int64_t ts,
                                const std::string& fresh_id);
// The same for notes, by when the open one was opened.
Result<Episode> episode_of_notes(WriteContext& context, const Session& session, std::int64_t ts,
                                 const std::string& fresh_id);

// An episode that is opened by its id is open, whatever it was, and goes on with what is said now. Refused:
// there is no such session, or it is another session's.
Result<Answer<Episode>> open_episode(WriteContext& context, const std::string& session_id,
                                     const Episode& given);
// Whether it was open.
Result<Answer<bool>> close_episode(WriteContext& context, const std::string& id, std::int64_t at);

} // namespace holdfast::memory::domain
