// Policies, world models and skills: three tables of one shape.
#include "memory/store/rows.hpp"

#include "core/text.hpp"

namespace holdfast::memory {

using core::cat;

namespace {

const char* table_of(ObjectKind kind) {
    switch (kind) {
    case ObjectKind::policy:
        return "policies";
    case ObjectKind::world_model:
        return "world_models";
    case ObjectKind::skill:
        return "skills";
    }
    return "policies";
}

constexpr const char* columns = "row, id, title, body, status, data, created_at, updated_at, trials";

StoredObject object_of(const Statement& row, ObjectKind kind) {
    return {row.integer(0), row.string(1), kind,           row.string(2),  row.string(3),
            row.string(4),  row.string(5), row.integer(6), row.integer(7), row.integer(8)};
}

} // namespace

Result<std::optional<StoredObject>> find_object(Database& database, ObjectKind kind, std::string_view id) {
    auto found = database.prepare(cat("SELECT ", columns, " FROM ", table_of(kind), " WHERE id=?1"));
    if (!found)
        return std::unexpected(std::move(found.error()));
    (*found)->bind(1, id);
    const ScopedReset reset(**found);
    auto row = (*found)->step();
    if (!row)
        return std::unexpected(std::move(row.error()));
    return *row ? std::optional(object_of(**found, kind)) : std::nullopt;
}

Result<std::vector<StoredObject>> list_objects(Database& database, ObjectKind kind, std::string_view status,
                                               std::string_view like, std::int64_t limit,
                                               std::int64_t offset) {
    auto rows =
        database.prepare(cat("SELECT ", columns, " FROM ", table_of(kind),
                             " WHERE (?1='' OR status=?1) AND (?2='' OR instr(lower(title||' '||body),"
                             " lower(?2))>0) ORDER BY updated_at DESC, row DESC LIMIT ?3 OFFSET ?4"));
    if (!rows)
        return std::unexpected(std::move(rows.error()));
    (*rows)->bind(1, status).bind(2, like).bind(3, limit).bind(4, offset);
    const ScopedReset reset(**rows);
    std::vector<StoredObject> objects;
    for (;;) {
        auto row = (*rows)->step();
        if (!row)
            return std::unexpected(std::move(row.error()));
        if (!*row)
            return objects;
        objects.push_back(object_of(**rows, kind));
    }
}

Result<void> put_object(WriteContext& context, StoredObject& object) {
    auto before = find_object(context.database, object.kind, object.id);
    if (!before)
        return std::unexpected(std::move(before.error()));
    auto put = context.database.prepare(
        cat("INSERT INTO ", table_of(object.kind),
            "(id, title, body, status, data, created_at, updated_at, trials) VALUES(?1, ?2, ?3, ?4, ?5, ?6, "
            "?7, ?8)"
            " ON CONFLICT(id) DO UPDATE SET title=?2, body=?3, status=?4, data=?5, updated_at=?7"));
    if (!put)
        return std::unexpected(std::move(put.error()));
    (*put)
        ->bind(1, object.id)
        .bind(2, object.title)
        .bind(3, object.body)
        .bind(4, object.status)
        .bind_or_null(5, object.data)
        .bind(6, object.created_at)
        .bind(7, object.updated_at)
        .bind(8, object.trials);
    if (auto done = (*put)->run(); !done)
        return done;
    if (!*before)
        ++context.totals.objects;
    return {};
}

Result<bool> archive_object(WriteContext& context, ObjectKind kind, std::string_view id, std::int64_t at) {
    auto archive = context.database.prepare(
        cat("UPDATE ", table_of(kind), " SET status='archived', updated_at=?2 WHERE id=?1"));
    if (!archive)
        return std::unexpected(std::move(archive.error()));
    if (auto done = (*archive)->bind(1, id).bind(2, at).run(); !done)
        return std::unexpected(std::move(done.error()));
    return context.database.changes() > 0;
}

Result<bool> record_trial(WriteContext& context, std::string_view skill_id) {
    auto count = context.database.prepare("UPDATE skills SET trials=trials+1 WHERE id=?1");
    if (!count)
        return std::unexpected(std::move(count.error()));
    if (auto done = (*count)->bind(1, skill_id).run(); !done)
        return std::unexpected(std::move(done.error()));
    return context.database.changes() > 0;
}

} // namespace holdfast::memory
