#include "keep/keeper_options.hpp"

#include "base/text.hpp"

namespace holdfast::keep {

std::string_view name_of(Restart restart) noexcept {
    switch (restart) {
    case Restart::never:
        return "never";
    case Restart::on_failure:
        return "on-failure";
    case Restart::always:
        return "always";
    }
    return "never";
}

std::string_view name_of(Containment containment) noexcept {
    switch (containment) {
    case Containment::automatic:
        return "auto";
    case Containment::plain:
        return "plain";
    case Containment::cgroup:
        return "cgroup";
    case Containment::pid_namespace:
        return "pidns";
    }
    return "auto";
}

Result<Containment> parse_containment(std::string_view text) {
    for (auto value :
         {Containment::automatic, Containment::plain, Containment::cgroup, Containment::pid_namespace})
        if (name_of(value) == text)
            return value;
    return fail(Errc::invalid_argument,
                base::cat("\"", text, "\" is not a containment; use auto, plain, cgroup or pidns"));
}

Result<Restart> parse_restart(std::string_view text) {
    for (auto value : {Restart::never, Restart::on_failure, Restart::always})
        if (name_of(value) == text)
            return value;
    return fail(Errc::invalid_argument,
                base::cat("\"", text, "\" is not a restart policy; use never, on-failure or always"));
}

} // namespace holdfast::keep
