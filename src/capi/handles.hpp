// The opaque types of the supervisor's part.
#pragma once

#include "capi/support.hpp"
#include "holdfast.h"
#include "holdfast/supervisor.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

struct hf_supervisor {
    holdfast::Supervisor supervisor;
};

struct hf_hold {
    holdfast::Hold hold;
};

struct hf_reply {
    holdfast::Reply reply;
};

struct hf_call {
    holdfast::PendingCall call;
};

struct hf_registration {
    holdfast::Registration registration;
};

struct hf_request {
    holdfast::IncomingRequest request;
    std::string method; // ended by a zero byte, unlike a view
    std::string params;
};

struct hf_session {
    std::optional<holdfast::Session> own;
    holdfast::Session* session = nullptr; // `own`, or the one an opening was given
};

namespace holdfast::capi {

// As they are given to every request.
inline RequestOptions request_options(std::int64_t timeout_ms, unsigned flags, std::uint64_t only) {
    RequestOptions out;
    out.timeout = timeout(timeout_ms);
    out.idempotent = (flags & HF_IDEMPOTENT) != 0;
    out.only = only;
    out.passed_on = (flags & HF_PASSED_ON) != 0;
    return out;
}

} // namespace holdfast::capi
