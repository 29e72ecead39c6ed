// What the methods that change the store have in common. Internal to the contract.
#pragma once

#include "memory/contract/contract_call.hpp"
#include "memory/domain/answer.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace holdfast::memory {

// The refusal of a rule, in the contract's words.
void refuse(const CallPointer& call, const domain::Refusal& refusal);

// Runs a rule of the domain that changes the store, which gives a Result<domain::Answer<…>>, and after the
// commit `answer` with its value. It may run again after it was rolled back with others of its batch, so
// `write` changes nothing of its own.
template <class Write, class Answer>
void change(const CallPointer& call, Write write, Answer answer) {
    using Written = std::remove_cvref_t<decltype(*write(std::declval<WriteContext&>()))>;
    auto kept = std::make_shared<Written>();
    call->service().submit(
        [kept, write = std::move(write)](WriteContext& context) mutable -> Result<void> {
            auto written = write(context);
            if (!written)
                return std::unexpected(std::move(written.error()));
            *kept = std::move(*written);
            return {};
        },
        [call, kept, answer = std::move(answer)](Result<void> done) mutable {
            if (!done) {
                call->contract().log("error", "store", done.error().message);
                return call->refuse(done.error());
            }
            if (kept->refusal)
                return refuse(call, kept->refusal);
            answer(kept->value);
        });
}

// What turn.end and subagent.record have in common: stores the trace, answers with its id, and tells the
// subscribers.
void store_trace(const CallPointer& call, Trace trace, bool user_text_said);

} // namespace holdfast::memory
