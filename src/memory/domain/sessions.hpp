// Sessions: opened, closed with their episodes, and seen by those of the same namespace.
#pragma once

#include "memory/domain/answer.hpp"
#include "memory/repository/write_context.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory::domain {

// A session of that id that is there is opened again, and stays what it was.
Result<Answer<Session>> open_session(WriteContext& context, const Session& given);
// Its episodes are closed with it; which ones were open.
Result<Answer<std::vector<std::string>>> close_session(WriteContext& context, const std::string& id,
                                                       std::int64_t at);

// Whether somebody with this namespace may see what is in that session, by the rule of a search: without one
// he may, and what has none is everybody's.
Result<bool> is_visible(Database& database, std::string_view name_space, std::string_view session_id);
// Nothing: there is none, or it is not visible.
Result<std::optional<Trace>> visible_trace(Database& database, std::string_view name_space,
                                           std::string_view id);
Result<std::optional<Episode>> visible_episode(Database& database, std::string_view name_space,
                                               std::string_view id);

} // namespace holdfast::memory::domain
