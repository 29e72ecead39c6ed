// Where the memory helper and its home are.
#include "base/text.hpp"
#include "cli/memory/memory.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "holdfast/slot.hpp"
#include "places/user_places.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/own_program.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::cli {

using base::cat;

Result<std::string> memory_home(const Arguments& arguments) {
    const auto given = arguments.value("home");
    if (given && given->empty())
        return fail(Errc::invalid_argument, "--home needs a directory");
    return places::memory_home_of_user(profile_of(arguments), given.value_or(""));
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
    auto found =
        sys::find_own_program("holdfast-memory", "HOLDFAST_MEMORY", {sys::own_program_path()}, "holdfast");
    if (!found)
        found.error().code = Errc::cannot_start;
    return found;
}

std::string viewer_address(const std::string& home) {
    const auto slot = query({home, "memory"});
    if (!slot || slot->state != SlotState::owned || !slot->record_is_current || slot->address.empty())
        return "";
    return slot->address.starts_with("http") ? slot->address : "";
}

} // namespace holdfast::cli
