// Feedback: what it is about, and how it moves the value of a trace.
#pragma once

#include "memory/domain/answer.hpp"
#include "memory/repository/write_context.hpp"

namespace holdfast::memory::domain {

// Feedback on an episode is about its last turn; on a trace it is on the episode of that trace, too.
Result<Answer<Feedback>> give_feedback(WriteContext& context, const Feedback& given);

// Stores it as it is, and moves the value of the trace it names. The same one again changes nothing.
Result<void> add_feedback(WriteContext& context, const Feedback& feedback);

} // namespace holdfast::memory::domain
