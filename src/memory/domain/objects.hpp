// Policies, world models and skills.
#pragma once

#include "memory/domain/answer.hpp"
#include "memory/repository/write_context.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::memory::domain {

// Gives it an id of its kind and the status "active", where it has none. One of that id that is there becomes
// what `object` says. Its id.
Result<Answer<std::string>> keep_object(WriteContext& context, const StoredObject& object);

Result<Answer<bool>> archive(WriteContext& context, ObjectKind kind, const std::string& id, std::int64_t at);

// A skill that is tried: its trials are counted. Nothing: there is none.
Result<Answer<std::optional<StoredObject>>> try_skill(WriteContext& context, const std::string& id);

} // namespace holdfast::memory::domain
