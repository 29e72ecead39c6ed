#include "cli/shared/exit_codes.hpp"

#include <cerrno>

namespace holdfast::cli {

int exit_code_of(const Error& error) noexcept {
    switch (error.code) {
    case Errc::invalid_argument:
        return exit_usage;
    case Errc::held:
    case Errc::superseded:
        return exit_held;
    case Errc::timed_out:
    case Errc::cancelled:
        return exit_timed_out;
    case Errc::orphaned:
    case Errc::survivors:
        return exit_leftovers;
    case Errc::too_many_takeovers:
    case Errc::gave_up:
        return exit_too_many;
    case Errc::not_permitted:
        return exit_not_permitted;
    case Errc::unreachable:
        return exit_unreachable;
    case Errc::lost:
        return exit_lost;
    case Errc::no_space:
    case Errc::unsafe_directory:
    case Errc::cannot_create:
        return exit_cannot_create;
    case Errc::cannot_start:
        return error.sys == ENOENT ? exit_not_found : exit_cannot_execute;
    case Errc::not_found:
        return exit_not_running;
    default:
        return exit_internal;
    }
}

} // namespace holdfast::cli
