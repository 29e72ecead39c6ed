#include "cli/hermes/hermes.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/hermes/hermes_folder.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "config_edit/yaml_key.hpp"
#include "holdfast/slot.hpp"
#include "places/user_places.hpp"
#include "sys/errors.hpp"
#include "json/json_write.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

namespace holdfast::cli {

using base::cat;

namespace {

constexpr config_edit::YamlKey provider_key{.section = "memory", .key = "provider"};
constexpr std::string_view provider_name = "holdfast";

constexpr Option options[] = {
    {.name = "home", .value = "DIR", .help = "the Hermes home (default: HERMES_HOME, or ~/.hermes)"},
    {.name = "from", .value = "DIR", .help = "install: the plugin folder (default: beside this program)"},
    {.name = "json", .value = "", .help = "status: as JSON"},
};

struct Places {
    std::string home;
    std::string plugin;
    std::string config;
    std::string backup; // the configuration as it was before
    std::string data;
};

bool is_directory(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string full_path(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> full(::realpath(path.c_str(), nullptr), &std::free);
    return full ? std::string(full.get()) : path;
}

// A shell that works in one profile has that as its HERMES_HOME; the others are beside it.
std::string home_of_all_profiles(const std::string& home) {
    if (is_directory(home + "/profiles"))
        return home;
    constexpr std::string_view folder = "/profiles";
    const auto profile = home.rfind('/');
    const std::string_view above = std::string_view(home).substr(0, profile);
    return profile != std::string::npos && above.ends_with(folder) && above.size() > folder.size()
               ? std::string(above.substr(0, above.size() - folder.size()))
               : home;
}

Result<Places> find_places(const Arguments& arguments) {
    const char* from_environment = std::getenv("HERMES_HOME");
    const std::string user = places::home_directory();
    std::string home;
    if (auto given = arguments.value("home"))
        home = *given;
    else if (from_environment && *from_environment)
        home = from_environment;
    else if (!user.empty())
        home = cat(user, "/.hermes");
    else
        return fail(Errc::invalid_argument, "HOME is not set, and /etc/passwd has no entry for this user, so "
                                            "Hermes cannot be looked for; use --home DIR");
    if (struct stat info{}; ::stat(home.c_str(), &info) != 0 && errno != ENOENT && errno != ENOTDIR)
        return sys::fail_sys(cat("look at the Hermes home ", home));
    if (!is_directory(home))
        return fail(Errc::invalid_argument, cat("there is no Hermes home at ", home,
                                                "; start Hermes once, or name it with --home DIR"));
    home = full_path(home);
    if (auto profile = arguments.value("profile")) {
        if (*profile != "default" &&
            (profile->empty() || profile->find('/') != std::string::npos || profile->starts_with('.')))
            return fail(Errc::invalid_argument, cat("\"", *profile, "\" cannot be the name of a profile"));
        home = home_of_all_profiles(home);
        if (*profile != "default")
            home = cat(home, "/profiles/", *profile);
        if (!is_directory(home))
            return fail(Errc::invalid_argument,
                        cat("Hermes has no profile \"", *profile, "\": there is no ", home));
        home = full_path(home);
    }
    Places out;
    out.home = home;
    out.plugin = home + "/plugins/holdfast";
    out.config = home + "/config.yaml";
    out.backup = home + "/config.yaml.before-holdfast";
    out.data = home + "/holdfast";
    return out;
}

Error about(const std::string& path, const Error& error) {
    return {.code = error.code, .message = cat(path, ": ", error.message), .sys = error.sys};
}

Result<void> set_provider(const Places& places, const FileText& before, const std::string& after) {
    if (before.there && before.text == after)
        return {};
    if (before.there) {
        // The backup first: a crash in between leaves nothing to regret.
        if (auto kept = write_file_of_others(places.backup, before.text); !kept)
            return kept;
    } else {
        ::unlink(places.backup.c_str()); // of an earlier life
    }
    return write_file_of_others(places.config, after);
}

int install(const Places& places, const Arguments& arguments) {
    auto source = find_plugin_source(arguments.value("from"));
    if (!source)
        return fail_with(source.error());
    auto before = read_file_of_others(places.config);
    if (!before)
        return fail_with(before.error());
    // Before anything is changed: can the configuration be?
    auto after = config_edit::yaml_with(before->text, provider_key, provider_name);
    if (!after)
        return fail_with(about(places.config, after.error()));
    const bool was_there = is_our_plugin(places.plugin);
    if (auto copied = install_plugin(*source, places.plugin); !copied)
        return fail_with(copied.error());
    if (auto set = set_provider(places, *before, *after); !set) {
        if (!was_there) // half an installation is none
            (void)remove_plugin(places.plugin);
        return fail_with(set.error());
    }
    print(cat("plugin:  ", places.plugin, '\n'));
    print(cat("config:  ", places.config, " has memory.provider: ", provider_name, '\n'));
    if (::access(places.backup.c_str(), F_OK) == 0)
        print(cat("before:  ", places.backup, '\n'));
    print("Start Hermes anew to use it. To undo: holdfast hermes uninstall\n");
    return exit_ok;
}

// The configuration as it was; where somebody has changed it since, only our key is taken back.
Result<std::string> undo(const Places& places) {
    auto now = read_file_of_others(places.config);
    auto before = read_file_of_others(places.backup);
    if (!now)
        return std::unexpected(now.error());
    if (!before)
        return std::unexpected(before.error());
    if (!now->there)
        return "there is no configuration to undo";
    auto provider = config_edit::yaml_value(now->text, provider_key);
    if (!provider)
        return std::unexpected(about(places.config, provider.error()));
    if (provider->value_or("") != provider_name)
        return cat(places.config, " names another provider and stays as it is");
    auto written = config_edit::yaml_with(before->text, provider_key, provider_name);
    if (written && *written == now->text && *written != before->text) {
        if (before->there) {
            if (auto done = write_file_of_others(places.config, before->text); !done)
                return std::unexpected(done.error());
            ::unlink(places.backup.c_str());
            return cat(places.config, " is as it was before");
        }
        ::unlink(places.config.c_str());
        return cat(places.config, " is gone, as there was none before");
    }
    auto before_value = config_edit::yaml_value(before->text, provider_key);
    std::string former = before_value ? before_value->value_or("") : "";
    bool restore = !former.empty() && former != provider_name;
    auto text = restore ? config_edit::yaml_with(now->text, provider_key, former)
                        : config_edit::yaml_without(now->text, provider_key);
    if (!text)
        return std::unexpected(about(places.config, text.error()));
    if (auto done = write_file_of_others(places.config, *text); !done)
        return std::unexpected(done.error());
    ::unlink(places.backup.c_str());
    return cat(places.config, " was changed since; only memory.provider was taken back");
}

int uninstall(const Places& places) {
    auto undone = undo(places);
    if (!undone)
        return fail_with(undone.error());
    auto removed = remove_plugin(places.plugin);
    if (!removed)
        return fail_with(removed.error());
    print(cat("plugin:  ", places.plugin, *removed ? " was removed" : " was not there", '\n'));
    print(cat("config:  ", *undone, '\n'));
    if (is_directory(places.data))
        print(cat("memory:  ", places.data, " stays; remove it if you do not want it any more\n"));
    return exit_ok;
}

template <class Each>
void for_each_name(const std::string& folder, Each each) {
    std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
    while (const dirent* one = open ? ::readdir(open.get()) : nullptr)
        if (std::string_view name = one->d_name; name != "." && name != "..")
            each(std::string(name));
}

struct Waiting {
    std::int64_t turns = 0;
    std::int64_t refused = 0;
};

Waiting count_waiting(const std::string& queue) {
    Waiting out;
    for_each_name(queue, [&](const std::string& folder) {
        for_each_name(cat(queue, '/', folder), [&](const std::string& name) {
            if (name.ends_with(".json"))
                ++(folder == "refused" ? out.refused : out.turns);
        });
    });
    return out;
}

int status(const Places& places, bool as_json) {
    std::string missing = missing_in_plugin(places.plugin);
    bool there = is_our_plugin(places.plugin);
    auto config = read_file_of_others(places.config);
    if (!config)
        return fail_with(config.error());
    auto provider = config_edit::yaml_value(config->text, provider_key);
    std::string named = provider ? provider->value_or("") : "";
    bool active = there && missing.empty() && named == provider_name;
    auto waiting = count_waiting(places.data + "/queue");
    auto slot = query({.directory = places.data + "/memory", .name = "memory"});
    bool owned = slot && slot->state == SlotState::owned;
    if (as_json) {
        json::object out{{"home", places.home},
                         {"active", active},
                         {"plugin",
                          {{"path", places.plugin},
                           {"installed", there},
                           {"complete", there && missing.empty()},
                           {"version", plugin_version(places.plugin)}}},
                         {"config",
                          {{"path", places.config},
                           {"provider", named},
                           {"backup", ::access(places.backup.c_str(), F_OK) == 0}}},
                         {"data", places.data},
                         {"helper", {{"running", owned}, {"pid", owned ? slot->owner_pid : 0}}},
                         {"waiting_turns", waiting.turns},
                         {"refused_turns", waiting.refused}};
        if (!provider)
            out["config"].as_object()["problem"] = provider.error().message;
        print(base::printable_json(json::to_text(out)) + "\n");
        return active ? exit_ok : exit_not_running;
    }
    print(cat("home:    ", places.home, '\n'));
    if (!there)
        print("plugin:  not installed; run: holdfast hermes install\n");
    else if (!missing.empty())
        print(cat("plugin:  ", missing, "; run: holdfast hermes install\n"));
    else
        print(cat("plugin:  ", plugin_version(places.plugin), " in ", places.plugin, '\n'));
    if (!provider)
        print(cat("config:  ", places.config, ": ", provider.error().message, '\n'));
    else
        print(cat("config:  memory.provider is ", named.empty() ? "not set" : named, '\n'));
    print(cat("memory:  ", places.data,
              owned ? cat(", helper ", slot->owner_pid, " runs") : std::string(", no helper runs"), '\n'));
    print(cat("turns:   ", waiting.turns, " wait to be stored",
              waiting.refused ? cat(", ", waiting.refused, " were refused (", places.data, "/queue/refused)")
                              : "",
              '\n'));
    return active ? exit_ok : exit_not_running;
}

} // namespace

std::span<const Option> hermes_options() {
    return options;
}

int hermes_command(const Arguments& arguments) {
    const std::string& what = arguments.words[0];
    if (what != "install" && what != "status" && what != "uninstall")
        return fail_with(
            {.code = Errc::invalid_argument,
             .message = cat("hermes does not know \"", what, "\"; use install, status or uninstall")});
    auto places = find_places(arguments);
    if (!places)
        return fail_with(places.error());
    if (what == "install")
        return install(*places, arguments);
    return what == "status" ? status(*places, arguments.has("json")) : uninstall(*places);
}

} // namespace holdfast::cli
