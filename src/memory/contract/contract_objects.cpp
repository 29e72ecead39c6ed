// Policies, world models and skills: stored objects that are added, shown, listed and archived.
#include "memory/contract/contract_reading.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"

namespace holdfast::memory {

using base::cat;

namespace {

void get_object(const CallPointer& call, ObjectKind kind) {
    const auto id = call->word("id", true);
    if (call->bad())
        return;
    reading(call, [call, id, kind](Database& database) -> Result<void> {
        auto object = find_object(database, kind, id);
        if (!object)
            return std::unexpected(std::move(object.error()));
        call->answer(*object ? json::value(to_json(**object)) : json::value(nullptr));
        return {};
    });
}

void list_of(const CallPointer& call, ObjectKind kind, const char* name) {
    const auto limit = call->integer("limit", false, 0, 1000);
    const auto offset = call->integer("offset", false, 0, latest_time);
    const auto status = call->text("status", false);
    const auto like = call->text("q", false);
    if (call->bad())
        return;
    reading(call, [=](Database& database) -> Result<void> {
        auto objects = list_objects(database, kind, status, like, limit.value_or(50), offset.value_or(0));
        if (!objects)
            return std::unexpected(std::move(objects.error()));
        call->answer(json::object{{name, to_list(*objects)}});
        return {};
    });
}

} // namespace

void memory_get_policy(const CallPointer& call) {
    get_object(call, ObjectKind::policy);
}
void memory_get_world(const CallPointer& call) {
    get_object(call, ObjectKind::world_model);
}
void memory_list_world_models(const CallPointer& call) {
    list_of(call, ObjectKind::world_model, "worldModels");
}
void memory_list_policies(const CallPointer& call) {
    list_of(call, ObjectKind::policy, "policies");
}
void skill_list(const CallPointer& call) {
    list_of(call, ObjectKind::skill, "skills");
}

void skill_get(const CallPointer& call) {
    const auto id = call->word("id", true);
    const bool trial = call->flag("recordTrial");
    if (call->bad())
        return;
    if (!trial)
        return get_object(call, ObjectKind::skill);
    auto found = std::make_shared<std::optional<StoredObject>>();
    call->service().submit(
        [id, found](WriteContext& context) -> Result<void> {
            if (auto counted = record_trial(context, id); !counted)
                return std::unexpected(std::move(counted.error()));
            auto skill = find_object(context.database, ObjectKind::skill, id);
            if (!skill)
                return std::unexpected(std::move(skill.error()));
            *found = std::move(*skill);
            return {};
        },
        [call, found](Result<void> done) {
            if (!done)
                return call->refuse(done.error());
            call->answer(*found ? json::value(to_json(**found)) : json::value(nullptr));
        });
}

void object_add(const CallPointer& call, ObjectKind kind) {
    auto object = std::make_shared<StoredObject>();
    object->kind = kind;
    object->id = call->word("id", false);
    object->title = call->clean(call->word("title", true));
    object->body = call->clean(call->text("body", true));
    object->status = call->word("status", false);
    if (const auto* data = call->params().if_contains("data");
        data != nullptr && !data->is_null() && !data->is_object())
        return call->refuse_argument("data must be an object");
    object->data = call->clean_json("data");
    if (call->bad())
        return;
    if (!object->id.empty() && !is_sound_id(object->id))
        return call->refuse_argument(cat("id", sound_id_rule));
    if (object->id.empty())
        object->id = make_id(kind == ObjectKind::skill ? "sk_" : kind == ObjectKind::policy ? "po_" : "wm_");
    if (object->status.empty())
        object->status = "active";
    object->created_at = object->updated_at = now_ms();
    call->service().submit([object](WriteContext& context) { return put_object(context, *object); },
                           [call, object](Result<void> done) {
                               if (!done)
                                   return call->refuse(done.error());
                               call->service().recall().objects_changed();
                               call->answer(json::object{{"id", object->id}});
                           });
}

void object_archive(const CallPointer& call, ObjectKind kind) {
    const auto id = call->word("id", true);
    (void)call->text("reason", false);
    if (call->bad())
        return;
    auto found = std::make_shared<bool>(false);
    call->service().submit(
        [id, kind, found](WriteContext& context) -> Result<void> {
            auto archived = archive_object(context, kind, id, now_ms());
            if (!archived)
                return std::unexpected(std::move(archived.error()));
            *found = *archived;
            return {};
        },
        [call, id, kind, found](Result<void> done) {
            if (!done)
                return call->refuse(done.error());
            if (!*found)
                return call->refuse_missing(kind == ObjectKind::skill    ? "skill_not_found"
                                            : kind == ObjectKind::policy ? "policy_not_found"
                                                                         : "world_model_not_found",
                                            cat("nothing stored under ", id));
            call->service().recall().objects_changed();
            call->answer(json::object{{"ok", true}});
        });
}

} // namespace holdfast::memory
