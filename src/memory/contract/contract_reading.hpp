// What the methods that only read have in common. Internal to the contract.
#pragma once

#include "memory/contract/contract_call.hpp"
#include "memory/repository/rows.hpp"

#include <vector>

namespace holdfast::memory {

// Runs `read` with a connection on the pool; it answers or returns the error.
template <class Read>
void reading(const CallPointer& call, Read read) {
    call->service().run(call->peer()->lane(), [call, read = std::move(read)](bool open) mutable {
        if (!open)
            return call->refuse(Error{Errc::closed, call->service().failure(), 0});
        auto reader = call->service().store().reader();
        if (!reader)
            return call->refuse(reader.error());
        if (auto done = read(**reader); !done)
            call->refuse(done.error());
    });
}

template <class Value>
json::array to_list(const std::vector<Value>& values) {
    json::array list;
    for (const auto& value : values)
        list.push_back(to_json(value));
    return list;
}

} // namespace holdfast::memory
