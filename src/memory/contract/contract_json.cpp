#include "memory/contract/contract_call.hpp"

namespace holdfast::memory {

json::object to_json(const Recalled& recalled) {
    json::array hits;
    for (const auto& hit : recalled.hits) {
        json::object shown{{"tier", hit.tier},   {"refId", hit.id},        {"refKind", hit.kind},
                           {"score", hit.score}, {"snippet", hit.snippet}, {"ts", hit.ts}};
        if (hit.kind == "trace") {
            shown["sourceTraceId"] = hit.id;
            shown["episodeId"] = hit.episode_id;
            shown["sessionId"] = hit.session_id;
        }
        hits.push_back(std::move(shown));
    }
    const auto objects_ms = static_cast<double>(recalled.objects_us) / 1000;
    json::object shown{{"hits", std::move(hits)},
                       {"injectedContext", recalled.injected},
                       {"tierLatencyMs",
                        {{"tier1", objects_ms},
                         {"tier2", static_cast<double>(recalled.traces_us) / 1000},
                         {"tier3", objects_ms}}}};
    if (recalled.cut)
        shown["cut"] = true;
    return shown;
}

} // namespace holdfast::memory
