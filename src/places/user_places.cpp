#include "places/user_places.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
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

std::string home_directory() {
    if (auto home = from_environment("HOME"); home && !home->empty())
        return *home;
    return sys::home_of_user(::geteuid()).value_or("");
}

} // namespace holdfast::places
