// A request of the helper on its way to who serves it.
#pragma once

#include "rpc/peer.hpp"
#include "supervise/helper.hpp"

#include <memory>
#include <string>

namespace holdfast::supervise {

struct IncomingState {
    std::weak_ptr<Helper> helper;
    Generation generation = 0;
    rpc::HoldTag hold = 0;
    rpc::RequestId request = 0;
    std::string method;
    std::string params;
};

struct RegistrationState {
    std::weak_ptr<Helper> helper;
    rpc::RegistrationId id = 0;
};

} // namespace holdfast::supervise
