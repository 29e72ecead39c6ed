#include "registry/swept_events.hpp"

#include "base/text.hpp"

namespace holdfast::registry {

void tell_of_swept(const EventLog& events, const std::vector<slot::Swept>& swept) {
    for (const slot::Swept& one : swept)
        if (!one.ended.empty())
            events.append({.unix_ms = 0,
                           .type = "reaped",
                           .id = one.id,
                           .label = one.label,
                           .pid = one.ended.front(),
                           .reason = base::cat("left behind; ", one.ended.size(), " processes"),
                           .status = {}});
}

} // namespace holdfast::registry
