#include "core/record.hpp"

#include "core/json_fields.hpp"
#include "core/phase.hpp"

namespace holdfast::core {

namespace {

json::object identity_to_json(const Identity& identity) {
    json::object out;
    out["boot_id"] = identity.boot_id;
    out["pid_ns"] = identity.pid_ns;
    out["pid"] = identity.pid;
    out["start_ticks"] = identity.start_ticks;
    out["pidfd_inode"] = identity.pidfd_inode;
    out["token"] = identity.token;
    return out;
}

Identity identity_from_json(const json::object& object) {
    Identity out;
    out.boot_id = text_field(object, "boot_id");
    out.pid_ns = unsigned_field(object, "pid_ns");
    std::int64_t pid = integer_field(object, "pid");
    out.pid = pid > 0 && pid <= 4'194'304 ? static_cast<int>(pid) : 0; // the kernel's largest PID
    out.start_ticks = unsigned_field(object, "start_ticks");
    out.pidfd_inode = unsigned_field(object, "pidfd_inode");
    out.token = text_field(object, "token");
    return out;
}

} // namespace

std::string to_json(const Record& record) {
    json::object out;
    out["schema"] = record_schema;
    out["name"] = record.name;
    out["epoch"] = record.epoch;
    out["phase"] = std::string(name_of(record.phase));
    out["status"] = record.status;
    out["progress_done"] = record.progress_done;
    out["progress_total"] = record.progress_total;
    out["progress_at"] = record.progress_at;
    out["patience_until"] = record.patience_until;
    out["since"] = record.since;
    out["since_unix_ms"] = record.since_unix_ms;
    out["identity"] = identity_to_json(record.identity);
    out["version"] = record.version;
    out["argv"] = to_array(record.argv);
    out["address"] = record.address;
    out["session"] = record.session;
    json::array takeovers;
    for (std::int64_t at : record.takeovers)
        takeovers.emplace_back(at);
    out["takeovers"] = std::move(takeovers);
    return json::serialize(out) + "\n";
}

std::optional<Record> record_from_json(std::string_view text) {
    if (text.size() > max_record_bytes)
        return std::nullopt;
    auto object = parse_object(text);
    if (!object || integer_field(*object, "schema") != record_schema)
        return std::nullopt;
    auto phase = phase_named(text_field(*object, "phase"));
    const json::object* identity = object_field(*object, "identity");
    if (!phase || !identity)
        return std::nullopt;

    Record out;
    out.name = text_field(*object, "name");
    out.epoch = unsigned_field(*object, "epoch");
    out.phase = *phase;
    out.status = text_field(*object, "status");
    out.progress_done = unsigned_field(*object, "progress_done");
    out.progress_total = unsigned_field(*object, "progress_total");
    out.progress_at = integer_field(*object, "progress_at");
    out.patience_until = integer_field(*object, "patience_until");
    out.since = integer_field(*object, "since");
    out.since_unix_ms = integer_field(*object, "since_unix_ms");
    out.identity = identity_from_json(*identity);
    out.version = text_field(*object, "version");
    out.argv = texts_field(*object, "argv");
    out.address = text_field(*object, "address");
    out.session = text_field(*object, "session");
    if (const json::value* list = object->if_contains("takeovers"); list && list->is_array())
        for (const json::value& at : list->get_array())
            if (at.is_int64())
                out.takeovers.push_back(at.get_int64());
    return out;
}

} // namespace holdfast::core
