// What the methods that change the store have in common. Internal to the contract.
#pragma once

#include "memory/contract/contract_call.hpp"
#include "memory/repository/rows.hpp"

#include <memory>
#include <string>

namespace holdfast::memory {

// What a write found to be wrong with the request: told to the client, and the transaction goes on without
// it.
struct Refusal {
    std::string code;
    std::string message;
};

// Runs a write that may refuse; `write` fills in the refusal or leaves it empty. It may be run again after it
// was rolled back with others of its batch, so it begins from what the client said, never from what an
// earlier run found.
template <class Write, class Answer>
void change(const CallPointer& call, Write write, Answer answer) {
    auto refusal = std::make_shared<Refusal>();
    call->service().submit(
        [refusal, write = std::move(write)](WriteContext& context) mutable -> Result<void> {
            *refusal = {}; // a batch that failed runs its writes again
            return write(context, *refusal);
        },
        [call, refusal, answer = std::move(answer)](Result<void> done) mutable {
            if (!done) {
                call->contract().log("error", "store", done.error().message);
                return call->refuse(done.error());
            }
            if (refusal->code == "invalid_argument")
                return call->refuse_argument(refusal->message);
            if (!refusal->code.empty())
                return call->refuse_missing(refusal->code, refusal->message);
            answer();
        });
}

Refusal no_session(const std::string& id);
Refusal no_episode(const std::string& id);

// The open episode of a session; a new one, under the id that `episode` has, when there is none or its last
// turn is long ago.
Result<void> current_episode(WriteContext& context, const Session& session, std::int64_t ts,
                             Episode& episode);

// The first line of what was said, as far as a list shows it.
std::string summary_of(const std::string& user_text, const std::string& agent_text);

// Stores a trace in an episode of a session, both of which must exist, and answers the call.
void store_trace(const CallPointer& call, const std::shared_ptr<Trace>& trace, bool user_text_given);

} // namespace holdfast::memory
