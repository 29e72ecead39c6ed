// The registry of a host's own helpers, and the parent watch, for C.
#include "capi/border.h"
#include "capi/json_out.hpp"
#include "capi/support.hpp"
#include "holdfast/parent_watch.hpp"
#include "slot/slot_json.hpp"

using namespace holdfast;
using namespace holdfast::capi;

struct hf_registry {
    Registry registry;
};

struct hf_parent_watch {
    ParentWatch watch;
};

namespace {

Result<ProcessNotes> read_notes(const hf_options* options) {
    ProcessNotes notes;
    OptionReader read(options);
    read.text("label", notes.label);
    read.text("session", notes.session);
    read.text("task", notes.task);
    read.list("argv", notes.argv);
    if (auto understood = read.finish(); !understood)
        return std::unexpected(understood.error());
    return notes;
}

hf_error give_entry(const Result<Registered>& entry, char** json) {
    return entry ? give(to_object(*entry), json) : failed(entry.error());
}

} // namespace

extern "C" {

hf_error hf_registry_open(const hf_options* options, hf_registry** out) {
    return guarded([&] {
        RegistryOptions given;
        OptionReader read(options);
        read.text("host", given.host);
        read.text("profile", given.profile);
        read.text("directory", given.directory);
        read.text("events_directory", given.events_directory);
        read.number("max_entries", given.max_entries);
        read.millis("ttl", given.ttl);
        read.flag("reap", given.reap);
        if (auto understood = read.finish(); !understood)
            return failed(understood.error());
        auto opened = Registry::open(given);
        if (!opened)
            return failed(opened.error());
        *out = new hf_registry{std::move(*opened)};
        return HF_OK;
    });
}

void hf_registry_free(hf_registry* registry) {
    delete registry;
}

hf_error hf_registry_register(hf_registry* registry, int pid, const hf_options* options, char** json) {
    return guarded([&] {
        auto notes = read_notes(options);
        return notes ? give_entry(registry->registry.register_process(pid, *notes), json)
                     : failed(notes.error());
    });
}

hf_error hf_registry_register_pidfd(hf_registry* registry, int pidfd, const hf_options* options,
                                    char** json) {
    return guarded([&] {
        auto notes = read_notes(options);
        return notes ? give_entry(registry->registry.register_pidfd(pidfd, *notes), json)
                     : failed(notes.error());
    });
}

hf_error hf_registry_find(hf_registry* registry, const char* by, const char* value, char** json) {
    return guarded([&] {
        const std::string_view word = view(by);
        if (word == "all")
            return give(to_array(registry->registry.all()), json);
        if (word == "session")
            return give(to_array(registry->registry.find(view(value))), json);
        if (word == "task")
            return give(to_array(registry->registry.find_task(view(value))), json);
        if (word != "survey")
            return failed(Errc::invalid_argument, "find by all, session, task or survey");
        auto all = registry->registry.survey();
        return all ? give(to_array(*all), json) : failed(all.error());
    });
}

hf_error hf_registry_get(hf_registry* registry, const char* id, char** json) {
    return guarded([&] {
        auto entry = registry->registry.get(view(id));
        return entry ? give(to_object(*entry), json)
                     : failed(Errc::not_found, "there is no entry of that id");
    });
}

int hf_registry_has_active(hf_registry* registry, const char* session) {
    return registry->registry.has_active(view(session)) ? 1 : 0;
}

hf_error hf_registry_end(hf_registry* registry, const char* what, const char* value,
                         const hf_options* options, char** json) {
    return guarded([&] {
        auto how = read_stop(options);
        if (!how)
            return failed(how.error());
        const std::string_view word = view(what);
        if (word != "id" && word != "session" && word != "all")
            return failed(Errc::invalid_argument, "end by id, session or all");
        auto report = word == "id"        ? registry->registry.end(view(value), *how)
                      : word == "session" ? registry->registry.end_session(view(value), *how)
                                          : registry->registry.end_all(*how);
        if (!report)
            return failed(report.error());
        return give(
            json::object{{"ended", to_array(report->ended)}, {"survivors", slot::json_of(report->survivors)}},
            json);
    });
}

int hf_registry_forget(hf_registry* registry, const char* id) {
    return registry->registry.forget(view(id)) ? 1 : 0;
}

hf_error hf_registry_after_restart(hf_registry* registry, const char* policy, hf_after_restart decide,
                                   void* user, const hf_options* options, char** json) {
    return guarded([&] {
        auto how = read_stop(options);
        if (!how)
            return failed(how.error());
        const std::string_view word = view(policy);
        const auto judge = [&](const Registered& entry) {
            if (word == "adopt" || word == "reap")
                return word == "adopt" ? AfterRestart::adopt : AfterRestart::reap;
            if (word == "leave" || decide == nullptr)
                return AfterRestart::leave;
            const int answer = border_decide(decide, user, text_of(to_object(entry)).c_str());
            return answer == 0 ? AfterRestart::adopt : answer == 1 ? AfterRestart::reap : AfterRestart::leave;
        };
        if (!word.empty() && word != "adopt" && word != "reap" && word != "leave")
            return failed(Errc::invalid_argument, "the policy is adopt, reap or leave");
        auto report = registry->registry.adopt_or_reap_after_restart(holdfast::RestartPolicy(judge), *how);
        if (!report)
            return failed(report.error());
        return give(json::object{{"adopted", to_array(report->adopted)},
                                 {"ended", to_array(report->ended)},
                                 {"finished", to_array(report->finished)},
                                 {"left", to_array(report->left)},
                                 {"survivors", slot::json_of(report->survivors)}},
                    json);
    });
}

int hf_registry_poll_fd(const hf_registry* registry) {
    return registry->registry.poll_fd();
}

hf_error hf_registry_collect(hf_registry* registry, char** json) {
    return guarded([&] { return give(to_array(registry->registry.collect()), json); });
}

size_t hf_registry_expire(hf_registry* registry, int64_t now_ms) {
    return registry->registry.expire(now_ms);
}
int64_t hf_registry_clock_ms(void) {
    return Registry::clock_ms();
}

hf_error hf_parent_watch_new(const hf_options* options, hf_watch_fired fired, void* user, hf_release release,
                             hf_parent_watch** out) {
    return guarded([&] {
        const User kept(user, release);
        ParentWatchOptions given;
        OptionReader read(options);
        if (read.has("idle")) {
            Millis idle{0};
            read.millis("idle", idle);
            given.idle = idle;
        }
        read.flag("init_is_parent", given.init_is_parent);
        read.number("fallback_signal", given.fallback_signal);
        if (auto understood = read.finish(); !understood)
            return failed(understood.error());
        auto started = fired == nullptr
                           ? ParentWatch::start(given)
                           : ParentWatch::with_callback(given, [kept, fired](WatchFired why) {
                                 border_fired(fired, kept.get(),
                                              why == WatchFired::parent_gone ? HF_PARENT_GONE : HF_IDLE);
                             });
        if (!started)
            return failed(started.error());
        *out = new hf_parent_watch{std::move(*started)};
        return HF_OK;
    });
}

void hf_parent_watch_free(hf_parent_watch* watch) {
    delete watch;
}
int hf_parent_watch_fd(const hf_parent_watch* watch) {
    return watch->watch.fd();
}

int hf_parent_watch_fired(const hf_parent_watch* watch) {
    const auto why = watch->watch.fired();
    return !why ? HF_NOT_FIRED : *why == WatchFired::parent_gone ? HF_PARENT_GONE : HF_IDLE;
}

void hf_parent_watch_touch(const hf_parent_watch* watch) {
    watch->watch.touch();
}

hf_error hf_describe_self(char** text) {
    return guarded([&] {
        auto words = ParentWatch::describe_self();
        if (!words)
            return failed(words.error());
        *text = copy_out(*words);
        return HF_OK;
    });
}

} // extern "C"
