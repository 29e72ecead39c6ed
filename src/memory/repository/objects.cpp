// Policies, world models and skills: three tables of one shape.
#include "base/text.hpp"
#include "memory/repository/row_values.hpp"
#include "memory/repository/rows.hpp"
#include "memory/repository/statements.hpp"

#include <algorithm>
#include <functional>

namespace holdfast::memory {

using base::cat;

Result<std::optional<StoredObject>> find_object(Database& database, ObjectKind kind, std::string_view id) {
    HF_PREPARE(found, database, cat("SELECT " HF_OBJECT_COLUMNS " FROM ", table_of(kind), " WHERE id=?1"));
    (*found)->bind(1, id);
    return first(**found, [&](const Statement& row) { return object_of(row, kind); });
}

Result<std::vector<StoredObject>> list_objects(Database& database, ObjectKind kind, std::string_view status,
                                               std::string_view like, std::int64_t limit,
                                               std::int64_t offset) {
    HF_PREPARE(rows, database,
               cat("SELECT " HF_OBJECT_COLUMNS " FROM ", table_of(kind),
                   " WHERE (?1='' OR status=?1) AND (?2='' OR has_words(title||' '||body, ?2))"
                   " ORDER BY updated_at DESC, row DESC LIMIT ?3 OFFSET ?4"));
    (*rows)->bind(1, status).bind(2, like).bind(3, limit).bind(4, offset);
    return collect(**rows, [&](const Statement& row) { return object_of(row, kind); });
}

Result<std::vector<StoredObject>> readable_objects(Database& database, ObjectKind kind, std::int64_t limit,
                                                   const PassedOver& passed_over) {
    std::vector<StoredObject> objects;
    HF_PREPARE(rows, database,
               cat("SELECT " HF_OBJECT_COLUMNS " FROM ", table_of(kind), " WHERE row>=?1 ORDER BY row"));
    std::int64_t last = 0;
    for (bool more = true; more;) {
        (*rows)->bind(1, last + 1);
        const ScopedReset reset(**rows);
        std::int64_t misplaced = 0; // rows behind `last`
        for (;;) {
            auto there = (*rows)->step();
            if (!there && !is_corrupt(there.error()))
                return std::unexpected(std::move(there.error()));
            if (!there) {
                const auto bad = last_unreadable(database, **rows, last, top_row(database, table_of(kind)));
                passed_over(table_of(kind), last + 1, bad, there.error());
                last = bad;
                more = bad < none_after;
                break; // and from there again
            }
            more = *there;
            if (!more)
                break;
            auto object = object_of(**rows, kind);
            if (!is_in_order(database, table_of(kind), last, misplaced, object.row)) {
                ++misplaced;
                passed_over(table_of(kind), last + misplaced, last + misplaced, not_in_order());
                continue;
            }
            misplaced = 0;
            last = object.row;
            objects.push_back(std::move(object));
        }
    }
    std::ranges::stable_sort(objects, std::greater{}, &StoredObject::updated_at);
    if (objects.size() > static_cast<std::size_t>(limit))
        objects.resize(static_cast<std::size_t>(limit));
    return objects;
}

Result<void> put_object(WriteContext& context, StoredObject& object) {
    auto before = find_object(context.database, object.kind, object.id);
    if (!before)
        return std::unexpected(std::move(before.error()));
    HF_PREPARE(
        put, context.database,
        cat("INSERT INTO ", table_of(object.kind),
            "(id, title, body, status, data, created_at, updated_at, trials) VALUES(?1, ?2, ?3, ?4, ?5, ?6, "
            "?7, ?8)"
            " ON CONFLICT(id) DO UPDATE SET title=?2, body=?3, status=?4, data=?5, updated_at=?7"));
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

Result<void> set_trials(WriteContext& context, const StoredObject& object) {
    HF_PREPARE(set, context.database, cat("UPDATE ", table_of(object.kind), " SET trials=?2 WHERE id=?1"));
    return (*set)->bind(1, object.id).bind(2, object.trials).run();
}

Result<bool> archive_object(WriteContext& context, ObjectKind kind, std::string_view id, std::int64_t at) {
    HF_PREPARE(archive, context.database,
               cat("UPDATE ", table_of(kind), " SET status='archived', updated_at=?2 WHERE id=?1"));
    return changed(context.database, (*archive)->bind(1, id).bind(2, at));
}

Result<bool> record_trial(WriteContext& context, std::string_view skill_id) {
    HF_PREPARE(count, context.database, "UPDATE skills SET trials=trials+1 WHERE id=?1");
    return changed(context.database, (*count)->bind(1, skill_id));
}

} // namespace holdfast::memory
