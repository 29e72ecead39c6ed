#include "capi/json_out.hpp"

#include "json/json_fields.hpp"

namespace holdfast::capi {

json::array to_array(const std::vector<Leftover>& leftovers) {
    json::array out;
    for (const Leftover& leftover : leftovers)
        out.push_back({{"pid", leftover.pid}, {"command", leftover.command}});
    return out;
}

json::object to_object(const SlotInfo& info) {
    json::object out;
    out["name"] = info.name;
    out["state"] = name_of(info.state);
    out["pid"] = info.owner_pid != 0 ? json::value(info.owner_pid) : json::value(nullptr);
    out["other_namespace"] = info.owner_in_other_namespace;
    out["stopped"] = info.owner_stopped;
    out["epoch"] = info.epoch;
    out["leftovers"] = to_array(info.leftovers);
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

json::object to_object(const HelperStatus& status) {
    json::object out;
    out["state"] = name_of(status.state);
    out["generation"] = status.generation;
    out["holds"] = status.holds;
    out["pid"] = status.pid;
    out["in_flight"] = status.in_flight;
    out["waiting"] = status.waiting;
    out["progress"] = status.progress;
    out["failure"] = status.failure;
    out["noise"] = status.noise;
    out["dropped_notifications"] = status.dropped_notifications;
    out["starts"] = status.starts;
    return out;
}

json::object to_object(const Registered& entry) {
    json::object out;
    out["id"] = entry.id;
    out["label"] = entry.label;
    out["session"] = entry.session;
    out["task"] = entry.task;
    out["argv"] = json::to_array(entry.argv);
    out["pid"] = entry.pid;
    out["alive"] = entry.alive;
    out["adopted"] = entry.adopted;
    out["age_ms"] = entry.age.count();
    out["ended_ago_ms"] = entry.ended_ago.count();
    out["exit_status"] = entry.exit_status ? json::value(*entry.exit_status) : json::value(nullptr);
    out["host"] = entry.host;
    out["host_pid"] = entry.host_pid;
    return out;
}

json::array to_array(const std::vector<Registered>& entries) {
    json::array out;
    for (const Registered& entry : entries)
        out.push_back(to_object(entry));
    return out;
}

} // namespace holdfast::capi
