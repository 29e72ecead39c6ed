// The tables that hold what was said, in the order in which they are exported: what a row needs stands before
// it.
#pragma once

#include "memory/repository/connection.hpp"

#include <array>
#include <cstdint>

namespace holdfast::memory {

inline constexpr std::array stored_tables = {"sessions", "episodes",     "traces", "feedback",
                                             "policies", "world_models", "skills"};
inline constexpr std::size_t sessions_table = 0;
inline constexpr std::size_t episodes_table = 1;
inline constexpr std::size_t traces_table = 2;
inline constexpr std::size_t feedback_table = 3;
inline constexpr std::size_t policies_table = 4;
inline constexpr std::size_t skills_table = 6;

// The number of the last row of each; 0: it is empty.
using LastRows = std::array<std::int64_t, stored_tables.size()>;
Result<LastRows> last_rows(Database& database);

} // namespace holdfast::memory
