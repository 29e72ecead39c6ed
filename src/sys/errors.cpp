#include "sys/errors.hpp"

#include "base/text.hpp"

#include <cstring>

namespace holdfast::sys {

Errc code_of_errno(int err) noexcept {
    switch (err) {
    case EACCES:
    case EPERM:
    case EROFS:
        return Errc::not_permitted;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return Errc::no_space;
    case ENOENT:
        return Errc::not_found;
    case ETIMEDOUT:
        return Errc::timed_out;
    case EINVAL:
    case ENAMETOOLONG:
        return Errc::invalid_argument;
    case ENOSYS:
    case EOPNOTSUPP:
        return Errc::unsupported;
    default:
        return Errc::io;
    }
}

std::string describe_errno(int err) {
    char buffer[128];
    return ::strerror_r(err, buffer, sizeof buffer); // the GNU form: may return a static string instead
}

std::unexpected<Error> fail_sys(std::string_view what, int err) {
    const std::string_view way_out = err == EMFILE ? "; raise the limit of open files (ulimit -n)" : "";
    return fail(code_of_errno(err), base::cat(what, ": ", describe_errno(err), way_out), err);
}

std::unexpected<Error> fail_making(std::string_view what, int err) {
    auto failed = fail_sys(what, err);
    if (err == ENOENT || err == ENOTDIR || err == EISDIR || err == EROFS)
        failed.error().code = Errc::cannot_create;
    return failed;
}

} // namespace holdfast::sys
