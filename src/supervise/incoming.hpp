// A request of the helper on its way to who serves it.
#pragma once

#include "rpc/peer.hpp"
#include "supervise/conversation.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::supervise {

struct IncomingState {
    IncomingState(std::weak_ptr<Conversation> asker, Generation of, rpc::HoldTag server, rpc::RequestId id,
                  std::string name, std::string raw_params)
        : helper(std::move(asker))
        , generation(of)
        , hold(server)
        , request(id)
        , method(std::move(name))
        , params(std::move(raw_params)) {}

    const std::weak_ptr<Conversation> helper;
    const Generation generation;
    const rpc::HoldTag hold;
    const rpc::RequestId request;
    const std::string method;
    const std::string params;
    // Said by whoever answered it. Two who answer at once are told apart by the peer, under its lock.
    std::atomic<bool> over{false};
};

struct RegistrationState {
    RegistrationState(std::weak_ptr<Conversation> of, rpc::RegistrationId number)
        : helper(std::move(of))
        , id(number) {}

    const std::weak_ptr<Conversation> helper;
    std::atomic<rpc::RegistrationId> id; // 0: ended, or left to its hold
};

} // namespace holdfast::supervise
