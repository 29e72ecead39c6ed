// Calling the contract from inside the process that serves it: the faces for hosts and for browsers stand on
// the same methods as everybody else. Objects go in and come out; nothing is written as text.
#pragma once

#include "memory/contract/contract.hpp"

#include "json/json.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::memory {

struct LocalAnswer {
    json::value result;
    std::string code; // of the error, as data.code; empty: there is a result
    std::string message;
    [[nodiscard]] bool ok() const noexcept { return code.empty(); }
};
using OnLocalAnswer = std::move_only_function<void(LocalAnswer)>;

// `done` is called exactly once, from any thread, perhaps before this returns. `agent`: for whom the client
// speaks.
void call_local(Contract& contract, std::string_view method, json::object params, std::string agent,
                OnLocalAnswer done);

} // namespace holdfast::memory
