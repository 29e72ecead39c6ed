// Where the memory helper and its home are.
#include "base/text.hpp"
#include "cli/memory/memory.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "holdfast/slot.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace holdfast::cli {

using base::cat;

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool is_program(const std::string& path) {
    return ::access(path.c_str(), X_OK) == 0;
}

} // namespace

Result<std::string> memory_home(const Arguments& arguments) {
    std::string home;
    if (auto given = arguments.value("home")) {
        home = *given;
        if (home.empty())
            return fail(Errc::invalid_argument, "--home needs a directory");
        if (home.front() != '/') {
            char* here = ::getcwd(nullptr, 0);
            home = cat(here != nullptr ? here : "", "/", home);
            std::free(here);
        }
    } else {
        auto places = places_of(arguments);
        if (!places)
            return std::unexpected(std::move(places.error()));
        if (places->state.empty()) // one that may only be read is somebody's all the same
            return std::unexpected(places->check_store("a memory").error());
        const bool default_profile = places->state.ends_with("/default");
        // The same place that holdfast-memory takes when a host starts it without --home.
        const auto moved = variable("HOLDFAST_HOME");
        home = default_profile && !moved.empty() ? cat(moved, "/memory") : cat(places->state, "/memory");
    }
    while (home.size() > 1 && home.ends_with('/'))
        home.pop_back();
    return home;
}

bool is_memory_home(const std::string& home) {
    return ::access(cat(home, "/memory.lock").c_str(), F_OK) == 0 ||
           ::access(cat(home, "/data/memory.db").c_str(), F_OK) == 0;
}

std::optional<std::string> existing_memory_home(const Arguments& arguments, int& exit_code) {
    auto home = memory_home(arguments);
    if (!home) {
        exit_code = fail_with(home.error());
        return std::nullopt;
    }
    if (is_memory_home(*home))
        return *home;
    if (errno != ENOENT && errno != ENOTDIR) {
        exit_code = fail_with(sys::fail_sys(cat("look at ", *home)).error());
        return std::nullopt;
    }
    complain(cat("there is no memory at ", *home, " yet; it begins with: holdfast memory add \"…\""));
    exit_code = exit_not_running;
    return std::nullopt;
}

Result<std::string> find_memory_program() {
    constexpr const char* name = "holdfast-memory";
    if (const auto named = variable("HOLDFAST_MEMORY"); !named.empty())
        return is_program(named)
                   ? Result<std::string>(named)
                   : fail(Errc::cannot_start,
                          cat("HOLDFAST_MEMORY names ", named, ", which cannot be executed"), ENOENT);
    std::array<char, PATH_MAX> full{};
    if (const auto n = ::readlink("/proc/self/exe", full.data(), full.size()); n > 0) {
        const std::string self(full.data(), static_cast<std::size_t>(n));
        const auto beside = self.substr(0, self.rfind('/'));
        for (const char* way : {"/", "/../libexec/holdfast/"})
            if (auto path = cat(beside, way, name); is_program(path))
                return path;
    }
    const auto path = variable("PATH");
    for (std::string_view rest = path; !rest.empty();) {
        const auto end = rest.find(':');
        if (auto candidate = cat(rest.substr(0, end), '/', name); is_program(candidate))
            return candidate;
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    }
    return fail(Errc::cannot_start,
                "the program holdfast-memory was not found beside holdfast or in PATH; set HOLDFAST_MEMORY "
                "to its path",
                ENOENT);
}

std::string viewer_address(const std::string& home) {
    const auto slot = query({home, "memory"});
    if (!slot || slot->state != SlotState::owned || !slot->record_is_current || slot->address.empty())
        return "";
    return slot->address.starts_with("http") ? slot->address : "";
}

} // namespace holdfast::cli
