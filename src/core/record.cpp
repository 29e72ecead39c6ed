#include "core/record.hpp"

#include "core/json_fields.hpp"
#include "core/phase.hpp"

namespace holdfast::core {

std::string to_json(const Record& record) {
    json::object out;
    out["written"] = record.written;
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
    out["identity"] = to_json_object(record.identity);
    out["version"] = record.version;
    out["argv"] = to_array(record.argv);
    out["address"] = record.address;
    out["session"] = record.session;
    json::array takeovers;
    for (std::int64_t at : record.takeovers)
        takeovers.emplace_back(at);
    out["takeovers"] = std::move(takeovers);
    if (!record.entry.empty())
        out["entry"] = record.entry;
    if (record.helper)
        out["helper"] = to_json_object(*record.helper);
    out["whole"] = record.written;
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
    out.written = unsigned_field(*object, "written");
    if (unsigned_field(*object, "whole") != out.written)
        return std::nullopt;
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
    out.identity = identity_from(*identity);
    out.version = text_field(*object, "version");
    out.argv = texts_field(*object, "argv");
    out.address = text_field(*object, "address");
    out.session = text_field(*object, "session");
    if (const json::value* list = object->if_contains("takeovers"); list && list->is_array())
        for (const json::value& at : list->get_array())
            if (at.is_int64())
                out.takeovers.push_back(at.get_int64());
    out.entry = text_field(*object, "entry");
    if (const json::object* helper = object_field(*object, "helper"))
        out.helper = helper_facts_from(*helper);
    return out;
}

} // namespace holdfast::core
