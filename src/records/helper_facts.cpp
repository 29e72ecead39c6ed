#include "records/helper_facts.hpp"

#include "json/json_fields.hpp"
#include "json/json_write.hpp"

namespace holdfast::records {

namespace {
constexpr std::int64_t largest_pid = 4'194'304; // the kernel's

int pid_field(const json::object& object, std::string_view key) {
    std::int64_t pid = json::integer_field(object, key);
    return pid > 0 && pid <= largest_pid ? static_cast<int>(pid) : 0;
}

void write_identity(json::Writer& out, std::string_view key, const base::Identity& identity) {
    out.open(key);
    write_fields(out, identity);
    out.close();
}
} // namespace

void write_fields(json::Writer& out, const base::Identity& identity) {
    out.field("boot_id", identity.boot_id);
    out.field("pid_ns", identity.pid_ns);
    out.field("pid", identity.pid);
    out.field("start_ticks", identity.start_ticks);
    out.field("pidfd_inode", identity.pidfd_inode);
    out.field("token", identity.token);
}

base::Identity identity_from(const json::object& object) {
    base::Identity out;
    out.boot_id = json::text_field(object, "boot_id");
    out.pid_ns = json::unsigned_field(object, "pid_ns");
    out.pid = pid_field(object, "pid");
    out.start_ticks = json::unsigned_field(object, "start_ticks");
    out.pidfd_inode = json::unsigned_field(object, "pidfd_inode");
    out.token = json::text_field(object, "token");
    return out;
}

void write_fields(json::Writer& out, const base::HelperFacts& facts) {
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

base::HelperFacts helper_facts_from(const json::object& object) {
    base::HelperFacts out;
    out.label = json::text_field(object, "label");
    if (const json::object* process = json::object_field(object, "process"))
        out.helper = identity_from(*process);
    if (const json::object* keeper = json::object_field(object, "keeper"))
        out.keeper = identity_from(*keeper);
    out.host_pid = pid_field(object, "host_pid");
    if (const json::object* host = json::object_field(object, "host"))
        out.host = identity_from(*host);
    out.host_command = json::text_field(object, "host_command");
    out.task = json::text_field(object, "task");
    out.restarts = static_cast<std::uint32_t>(json::unsigned_field(object, "restarts"));
    out.stop_plan = json::text_field(object, "stop_plan");
    out.spare = json::texts_field(object, "spare");
    out.containment = json::text_field(object, "containment");
    out.cgroup_place = json::text_field(object, "cgroup_place");
    out.log = json::text_field(object, "log");
    out.slot = json::text_field(object, "slot");
    out.registered = json::bool_field(object, "registered");
    out.registered_by = json::text_field(object, "registered_by");
    out.ended_at = json::integer_field(object, "ended_at");
    out.exit_status = static_cast<int>(json::integer_field(object, "exit_status"));
    return out;
}

} // namespace holdfast::records
