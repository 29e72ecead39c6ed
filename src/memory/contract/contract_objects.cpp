// Policies, world models and skills: stored objects that are added, shown, listed and archived.
#include "memory/contract/contract_reading.hpp"
#include "memory/contract/contract_writing.hpp"
#include "memory/domain/objects.hpp"

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
    change(
        call, [id](WriteContext& context) { return domain::try_skill(context, id); },
        [call](const std::optional<StoredObject>& skill) {
            call->answer(skill ? json::value(to_json(*skill)) : json::value(nullptr));
        });
}

void object_add(const CallPointer& call, ObjectKind kind) {
    StoredObject object;
    object.kind = kind;
    object.id = call->word("id", false);
    object.title = call->clean(call->word("title", true));
    object.body = call->clean(call->text("body", true));
    object.status = call->word("status", false);
    if (const auto* data = call->params().if_contains("data");
        data != nullptr && !data->is_null() && !data->is_object())
        return call->refuse_argument("data must be an object");
    object.data = call->clean_json("data");
    if (call->bad())
        return;
    if (!object.id.empty() && !is_sound_id(object.id))
        return call->refuse_argument(cat("id", sound_id_rule));
    object.created_at = object.updated_at = now_ms();
    change(
        call,
        [object = std::move(object)](WriteContext& context) { return domain::keep_object(context, object); },
        [call](const std::string& id) {
            call->service().recall().objects_changed();
            call->answer(json::object{{"id", id}});
        });
}

void object_archive(const CallPointer& call, ObjectKind kind) {
    const auto id = call->word("id", true);
    (void)call->text("reason", false);
    if (call->bad())
        return;
    change(
        call, [id, kind](WriteContext& context) { return domain::archive(context, kind, id, now_ms()); },
        [call](bool) {
            call->service().recall().objects_changed();
            call->answer(json::object{{"ok", true}});
        });
}

} // namespace holdfast::memory
