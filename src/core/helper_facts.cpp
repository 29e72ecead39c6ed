#include "core/helper_facts.hpp"

#include "core/json_fields.hpp"
#include "core/json_writer.hpp"

namespace holdfast::core {

namespace {
constexpr std::int64_t largest_pid = 4'194'304; // the kernel's

int pid_field(const json::object& object, std::string_view key) {
    std::int64_t pid = integer_field(object, key);
    return pid > 0 && pid <= largest_pid ? static_cast<int>(pid) : 0;
}

void write_identity(JsonWriter& out, std::string_view key, const Identity& identity) {
    out.open(key);
    write_fields(out, identity);
    out.close();
}
} // namespace

void write_fields(JsonWriter& out, const Identity& identity) {
    out.field("boot_id", identity.boot_id);
    out.field("pid_ns", identity.pid_ns);
    out.field("pid", identity.pid);
    out.field("start_ticks", identity.start_ticks);
    out.field("pidfd_inode", identity.pidfd_inode);
    out.field("token", identity.token);
}

Identity identity_from(const json::object& object) {
    Identity out;
    out.boot_id = text_field(object, "boot_id");
    out.pid_ns = unsigned_field(object, "pid_ns");
    out.pid = pid_field(object, "pid");
    out.start_ticks = unsigned_field(object, "start_ticks");
    out.pidfd_inode = unsigned_field(object, "pidfd_inode");
    out.token = text_field(object, "token");
    return out;
}

void write_fields(JsonWriter& out, const HelperFacts& facts) {
    out.field("label", facts.label);
    write_identity(out, "process", facts.helper);
    write_identity(out, "keeper", facts.keeper);
    out.field("host_pid", facts.host_pid);
    if (facts.host.pid > 0)
        write_identity(out, "host", facts.host);
    out.field("host_command", facts.host_command);
    out.field("task", facts.task);
    out.field("restarts", facts.restarts);
    out.field("stop_plan", facts.stop_plan);
    out.field("spare", facts.spare);
    out.field("containment", facts.containment);
    out.field("cgroup_place", facts.cgroup_place);
    out.field("log", facts.log);
    out.field("slot", facts.slot);
    out.field("registered", facts.registered);
    out.field("registered_by", facts.registered_by);
    out.field("ended_at", facts.ended_at);
    out.field("exit_status", facts.exit_status);
}

HelperFacts helper_facts_from(const json::object& object) {
    HelperFacts out;
    out.label = text_field(object, "label");
    if (const json::object* process = object_field(object, "process"))
        out.helper = identity_from(*process);
    if (const json::object* keeper = object_field(object, "keeper"))
        out.keeper = identity_from(*keeper);
    out.host_pid = pid_field(object, "host_pid");
    if (const json::object* host = object_field(object, "host"))
        out.host = identity_from(*host);
    out.host_command = text_field(object, "host_command");
    out.task = text_field(object, "task");
    out.restarts = static_cast<std::uint32_t>(unsigned_field(object, "restarts"));
    out.stop_plan = text_field(object, "stop_plan");
    out.spare = texts_field(object, "spare");
    out.containment = text_field(object, "containment");
    out.cgroup_place = text_field(object, "cgroup_place");
    out.log = text_field(object, "log");
    out.slot = text_field(object, "slot");
    out.registered = bool_field(object, "registered");
    out.registered_by = text_field(object, "registered_by");
    out.ended_at = integer_field(object, "ended_at");
    out.exit_status = static_cast<int>(integer_field(object, "exit_status"));
    return out;
}

} // namespace holdfast::core
