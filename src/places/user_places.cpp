#include "places/user_places.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/own_program.hpp"
#include "sys/user_home.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

namespace holdfast::places {

namespace {

std::optional<std::string> from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
}

// Whether this directory can be written, or the nearest one above it that exists: then it can be made. 0, or
// the errno of what is in the way.
int cannot_write(std::string path) {
    for (;;) {
        if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0)
            return 0;
        if (errno != ENOENT || path == "/")
            return errno;
        path.resize(std::max<std::size_t>(path.rfind('/'), 1));
    }
}

} // namespace

Result<places::Places> places_of_user(std::string_view profile) {
    auto places = places::resolve_places(from_environment, ::geteuid(), profile,
                                         [] { return sys::home_of_user(::geteuid()); });
    if (!places || places->state.empty() || places->all_in_one)
        return places;
    if (const int error = cannot_write(places->state))
        places->store_nothing(
            base::cat("the directory ", places->state, " cannot be written: ", sys::describe_errno(error)));
    return places;
}

Result<std::string> memory_home_of_user(std::string_view profile, const std::string& given) {
    std::string home;
    if (given.empty()) {
        const auto places = places_of_user(profile);
        if (!places)
            return std::unexpected(places.error());
        if (places->memory.empty()) // one that may only be read is somebody's all the same
            return std::unexpected(places->check_store("a memory").error());
        home = places->memory;
    } else if (auto full = sys::absolute_path(given)) {
        home = std::move(*full);
    } else {
        return full;
    }
    while (home.size() > 1 && home.ends_with('/'))
        home.pop_back();
    return home;
}

std::string home_directory() {
    if (auto home = from_environment("HOME"); home && !home->empty())
        return *home;
    return sys::home_of_user(::geteuid()).value_or("");
}

} // namespace holdfast::places
