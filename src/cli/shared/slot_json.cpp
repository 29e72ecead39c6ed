#include "cli/shared/slot_json.hpp"

#include "base/printable.hpp"
#include "json/json_fields.hpp"

namespace holdfast::cli {

json::object to_json_object(const SlotInfo& info) {
    json::object out;
    out["name"] = info.name;
    out["state"] = std::string(name_of(info.state));
    out["pid"] = info.owner_pid ? json::value(info.owner_pid) : json::value(nullptr);
    out["other_namespace"] = info.owner_in_other_namespace;
    out["stopped"] = info.owner_stopped;
    out["epoch"] = info.epoch;
    json::array leftovers;
    for (const Leftover& leftover : info.leftovers)
        leftovers.push_back({{"pid", leftover.pid}, {"command", leftover.command}});
    out["leftovers"] = std::move(leftovers);
    out["current"] = info.record_is_current;
    if (!info.has_record)
        return out;
    out["phase"] = std::string(name_of(info.phase));
    out["status"] = info.status;
    out["progress"] = json::object{
        {"done", info.progress_done}, {"total", info.progress_total}, {"age_ms", info.progress_age.count()}};
    out["age_ms"] = info.age.count();
    out["since_unix_ms"] = info.since_unix_ms;
    out["argv"] = json::to_array(info.argv);
    out["address"] = info.address;
    out["session"] = info.session;
    out["version"] = info.version;
    return out;
}

std::string to_json(const SlotInfo& info) {
    return base::printable_json(json::serialize(to_json_object(info)));
}

} // namespace holdfast::cli
