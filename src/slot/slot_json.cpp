#include "slot/slot_json.hpp"

#include "json/json_write.hpp"

namespace holdfast::slot {

json::array json_of(const std::vector<Leftover>& leftovers) {
    json::array out;
    for (const Leftover& leftover : leftovers)
        out.push_back({{"pid", leftover.pid}, {"command", leftover.command}});
    return out;
}

json::object json_of(const SlotInfo& info) {
    json::object out;
    out["name"] = info.name;
    out["state"] = name_of(info.state);
    out["pid"] = info.owner_pid != 0 ? json::value(info.owner_pid) : json::value(nullptr);
    out["other_namespace"] = info.owner_in_other_namespace;
    out["stopped"] = info.owner_stopped;
    out["epoch"] = info.epoch;
    out["leftovers"] = json_of(info.leftovers);
    out["current"] = info.record_is_current;
    if (!info.has_record)
        return out;
    out["phase"] = name_of(info.phase);
    out["status"] = info.status;
    out["progress"] = {
        {"done", info.progress_done}, {"total", info.progress_total}, {"age_ms", info.progress_age.count()}};
    out["age_ms"] = info.age.count();
    out["since_unix_ms"] = info.since_unix_ms;
    out["argv"] = json::to_array(info.argv);
    out["address"] = info.address;
    out["session"] = info.session;
    out["version"] = info.version;
    return out;
}

} // namespace holdfast::slot
