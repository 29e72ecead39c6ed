#include "holdfast/result.hpp"

namespace holdfast {

std::string_view name_of(Errc code) noexcept {
    switch (code) {
    case Errc::invalid_argument:
        return "invalid_argument";
    case Errc::held:
        return "held";
    case Errc::timed_out:
        return "timed_out";
    case Errc::orphaned:
        return "orphaned";
    case Errc::superseded:
        return "superseded";
    case Errc::too_many_takeovers:
        return "too_many_takeovers";
    case Errc::not_permitted:
        return "not_permitted";
    case Errc::unreachable:
        return "unreachable";
    case Errc::lost:
        return "lost";
    case Errc::no_space:
        return "no_space";
    case Errc::io:
        return "io";
    case Errc::not_found:
        return "not_found";
    case Errc::unsafe_directory:
        return "unsafe_directory";
    case Errc::survivors:
        return "survivors";
    case Errc::cannot_start:
        return "cannot_start";
    case Errc::unsupported:
        return "unsupported";
    case Errc::gave_up:
        return "gave_up";
    case Errc::closed:
        return "closed";
    case Errc::overflow:
        return "overflow";
    case Errc::protocol:
        return "protocol";
    case Errc::cancelled:
        return "cancelled";
    case Errc::cannot_create:
        return "cannot_create";
    }
    return "unknown";
}

} // namespace holdfast
