#include "capi/json_out.hpp"

#include "capi/support.hpp"
#include "json/json_write.hpp"

namespace holdfast::capi {

std::string text_of(const json::value& value) {
    return json::to_text(value, {.bytes = json::Bytes::as_utf8});
}

hf_error give(const json::value& value, char** json) {
    if (json != nullptr)
        *json = copy_out(text_of(value));
    return HF_OK;
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
