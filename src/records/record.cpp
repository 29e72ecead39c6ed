#include "records/record.hpp"

#include "records/helper_facts.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include "base/phase.hpp"
#include "json/json_fields.hpp"

#include <array>

namespace holdfast::records {

std::string to_json(const base::Record& record) {
    json::Writer out;
    out.open();
    out.field("written", record.written);
    out.field("schema", record_schema);
    out.field("name", record.name);
    out.field("epoch", record.epoch);
    out.field("phase", name_of(record.phase));
    out.field("status", record.status);
    out.field("progress_done", record.progress_done);
    out.field("progress_total", record.progress_total);
    out.field("progress_at", record.progress_at);
    out.field("patience_until", record.patience_until);
    out.field("since", record.since);
    out.field("since_unix_ms", record.since_unix_ms);
    out.open("identity");
    write_fields(out, record.identity);
    out.close();
    out.field("version", record.version);
    out.field("argv", record.argv);
    out.field("address", record.address);
    out.field("session", record.session);
    out.field("takeovers", record.takeovers);
    if (!record.entry.empty())
        out.field("entry", record.entry);
    if (record.helper) {
        out.open("helper");
        write_fields(out, *record.helper);
        out.close();
    }
    out.field("whole", record.written);
    out.close();
    return std::move(out).take() + "\n";
}

std::optional<base::Record> record_from_json(std::string_view text) {
    if (text.size() > max_record_bytes)
        return std::nullopt;
    // A tree that is thrown away at once: its hundred small pieces come from one block on the stack.
    std::array<unsigned char, 8192> block;
    json::monotonic_resource memory(block.data(), block.size());
    auto object = json::parse_object(text, json::record_limits, &memory);
    if (!object || json::integer_field(*object, "schema") != record_schema)
        return std::nullopt;
    auto phase = base::phase_named(json::text_field(*object, "phase"));
    const json::object* identity = json::object_field(*object, "identity");
    if (!phase || !identity)
        return std::nullopt;

    base::Record out;
    out.written = json::unsigned_field(*object, "written");
    if (json::unsigned_field(*object, "whole") != out.written)
        return std::nullopt;
    out.name = json::text_field(*object, "name");
    out.epoch = json::unsigned_field(*object, "epoch");
    out.phase = *phase;
    out.status = json::text_field(*object, "status");
    out.progress_done = json::unsigned_field(*object, "progress_done");
    out.progress_total = json::unsigned_field(*object, "progress_total");
    out.progress_at = json::integer_field(*object, "progress_at");
    out.patience_until = json::integer_field(*object, "patience_until");
    out.since = json::integer_field(*object, "since");
    out.since_unix_ms = json::integer_field(*object, "since_unix_ms");
    out.identity = identity_from(*identity);
    out.version = json::text_field(*object, "version");
    out.argv = json::texts_field(*object, "argv");
    out.address = json::text_field(*object, "address");
    out.session = json::text_field(*object, "session");
    if (const json::value* list = object->if_contains("takeovers"); list && list->is_array())
        for (const json::value& at : list->get_array())
            if (at.is_int64())
                out.takeovers.push_back(at.get_int64());
    out.entry = json::text_field(*object, "entry");
    if (const json::object* helper = json::object_field(*object, "helper"))
        out.helper = helper_facts_from(*helper);
    return out;
}

} // namespace holdfast::records
