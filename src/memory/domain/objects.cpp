#include "memory/domain/objects.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "memory/ids/ids.hpp"
#include "memory/repository/rows.hpp"

namespace holdfast::memory::domain {

namespace {

std::string new_object_id(ObjectKind kind) {
    return make_id(kind == ObjectKind::skill ? "sk_" : kind == ObjectKind::policy ? "po_" : "wm_");
}

Why missing(ObjectKind kind) {
    return kind == ObjectKind::skill    ? Why::no_skill
           : kind == ObjectKind::policy ? Why::no_policy
                                        : Why::no_world_model;
}

} // namespace

Result<Answer<std::string>> keep_object(WriteContext& context, const StoredObject& object) {
    auto kept = object;
    if (kept.id.empty())
        kept.id = new_object_id(kept.kind);
    if (kept.status.empty())
        kept.status = "active";
    HF_TRY(put, put_object(context, kept));
    return Answer<std::string>{std::move(kept.id)};
}

Result<Answer<bool>> archive(WriteContext& context, ObjectKind kind, const std::string& id, std::int64_t at) {
    HF_TRY(archived, archive_object(context, kind, id, at));
    if (!*archived)
        return Answer<bool>{.refusal = {missing(kind), base::cat("nothing stored under ", id)}};
    return Answer<bool>{true};
}

Result<Answer<std::optional<StoredObject>>> try_skill(WriteContext& context, const std::string& id) {
    HF_TRY(counted, record_trial(context, id));
    HF_TRY(skill, find_object(context.database, ObjectKind::skill, id));
    return Answer<std::optional<StoredObject>>{std::move(*skill)};
}

} // namespace holdfast::memory::domain
