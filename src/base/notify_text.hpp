// One sd_notify message, read. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {

struct NotifyWords {
    bool ready = false;
    bool stopping = false;
    std::optional<std::string> status;
    std::optional<std::uint64_t> extend_usec;
    std::optional<std::uint64_t> progress_done;
    std::uint64_t progress_total = 0;
    std::optional<std::string> address; // HOLDFAST_ADDRESS=: where the helper can be reached
};

// READY=1, STOPPING=1, STATUS=…, EXTEND_TIMEOUT_USEC=n, HOLDFAST_PROGRESS=done or done/total,
// HOLDFAST_ADDRESS=…; everything else is left to others.
NotifyWords read_notify(std::string_view text);

} // namespace holdfast::base
