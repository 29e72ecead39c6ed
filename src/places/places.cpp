#include "places/places.hpp"

#include "base/names.hpp"
#include "base/text.hpp"

namespace holdfast::places {

namespace {

constexpr std::string_view default_profile = "default";

// An absolute path from the environment, or nothing when unset or empty.
Result<std::optional<std::string>> path_from(const Lookup& environment, const char* name) {
    auto value = environment(name);
    if (!value || value->empty())
        return std::nullopt;
    if (value->front() != '/')
        return fail(Errc::invalid_argument,
                    base::cat(name, " is \"", *value, "\"; it must be an absolute path"));
    while (value->size() > 1 && value->back() == '/')
        value->pop_back();
    return value;
}

} // namespace

void Places::store_nothing(std::string why) {
    cannot_store = std::move(why);
    events = slots.substr(0, slots.rfind('/'));
}

Result<void> Places::check_store(std::string_view what) const {
    if (cannot_store.empty())
        return {};
    return fail(Errc::cannot_create,
                base::cat(what, " cannot be stored: ", cannot_store,
                          "; set HOME, XDG_STATE_HOME or HOLDFAST_HOME to a directory that you can write"));
}

Result<Places> resolve_places(const Lookup& environment, unsigned uid, std::string_view profile,
                              const HomeOfUser& home_of_user) {
    if (auto ok = base::check_profile_name(profile); !ok)
        return std::unexpected(ok.error());
    auto home = path_from(environment, "HOLDFAST_HOME");
    auto runtime = path_from(environment, "XDG_RUNTIME_DIR");
    auto state = path_from(environment, "XDG_STATE_HOME");
    auto config = path_from(environment, "XDG_CONFIG_HOME");
    auto user_home = path_from(environment, "HOME");
    for (const auto* path : {&home, &runtime, &state, &config, &user_home})
        if (!*path)
            return std::unexpected(path->error());

    Places out;
    std::string run;
    out.all_in_one = home->has_value();
    if (*home) {
        run = base::cat(**home, "/run/", profile);
        out.state = base::cat(**home, "/state/", profile);
        out.config = base::cat(**home, "/config");
    } else {
        out.runtime_is_fallback = !*runtime;
        run = *runtime ? base::cat(**runtime, "/holdfast/", profile)
                       : base::cat("/tmp/holdfast-", uid, "/", profile);
        if ((!*state || !*config) && !*user_home)
            *user_home = home_of_user();
        if (*state || *user_home)
            out.state = *state ? base::cat(**state, "/holdfast/", profile)
                               : base::cat(**user_home, "/.local/state/holdfast/", profile);
        if (*config || *user_home)
            out.config =
                *config ? base::cat(**config, "/holdfast") : base::cat(**user_home, "/.config/holdfast");
    }
    if (!out.state.empty())
        out.memory =
            *home && profile == default_profile ? base::cat(**home, "/memory") : out.state + "/memory";
    out.slots = run + "/slots";
    out.helpers = run + "/helpers";
    out.events = out.state;
    if (out.state.empty())
        out.store_nothing(base::cat("HOME is not set, and /etc/passwd has no entry for user ", uid));
    return out;
}

} // namespace holdfast::places
