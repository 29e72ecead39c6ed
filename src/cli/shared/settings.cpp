#include "cli/shared/settings.hpp"

#include "base/text.hpp"
#include "cli/shared/print.hpp"
#include "places/user_places.hpp"
#include "sys/directories.hpp"

#include <cstdlib>

namespace holdfast::cli {

std::string profile_of(const Arguments& arguments) {
    if (!arguments.has("profile"))
        if (const char* named = std::getenv("HOLDFAST_PROFILE"); named != nullptr && *named != '\0')
            return named;
    return arguments.profile;
}

Result<places::Places> places_of(const Arguments& arguments) {
    return places::places_of_user(profile_of(arguments));
}

Result<void> prepare_directory(const std::string& path) {
    if (auto made = sys::make_directories(path); !made)
        return made;
    if (auto ok = sys::check_private_directory(path); !ok)
        return ok;
    if (auto shared = sys::shared_file_system(path))
        complain(base::cat(
            "warning: ", path, " is on ", *shared,
            ", where locks and process numbers of several machines meet; Holdfast guards this machine "
            "only. Set HOLDFAST_HOME to a local directory"));
    return {};
}

Result<std::string> full_slot_directory(const std::string& given) {
    char* full = ::realpath(given.c_str(), nullptr);
    if (!full)
        return fail(Errc::invalid_argument,
                    base::cat("--slot-dir ", given, " is not a directory that exists"));
    std::string out = full;
    std::free(full);
    return out;
}

Result<std::string> slot_directory(const Arguments& arguments) {
    if (auto given = arguments.value("slot-dir"))
        return full_slot_directory(*given);
    auto places = places_of(arguments);
    if (!places)
        return std::unexpected(places.error());
    return places->slots;
}

Result<std::optional<Millis>> duration_option(const Arguments& arguments, std::string_view name) {
    auto text = arguments.value(name);
    if (!text)
        return std::nullopt;
    auto parsed = base::parse_duration(*text);
    if (!parsed)
        return fail(Errc::invalid_argument, base::cat("--", name, ": ", parsed.error().message));
    return *parsed;
}

Result<std::optional<unsigned long long>> size_option(const Arguments& arguments, std::string_view name) {
    auto text = arguments.value(name);
    if (!text)
        return std::nullopt;
    auto parsed = base::parse_size(*text);
    if (!parsed)
        return fail(Errc::invalid_argument, base::cat("--", name, ": ", parsed.error().message));
    return *parsed;
}

Result<void> check_keys(const Arguments& arguments) {
    for (std::string_view name : {"name", "session", "task"})
        if (auto key = arguments.value(name); key && key->empty())
            return fail(Errc::invalid_argument, base::cat("--", name, " needs a word that is not empty"));
    return {};
}

} // namespace holdfast::cli
