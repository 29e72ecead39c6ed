#include "host/starter.hpp"

#include "base/identity_text.hpp"
#include "base/text.hpp"
#include "core/lineage.hpp"
#include "holdfast/parent_watch.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <cstdlib>

namespace holdfast::host {

namespace {

std::unexpected<Error> it_has_ended() {
    return fail(Errc::cancelled, "the process that started this one has ended already, so nothing was "
                                 "started; to run without a host, say --host none");
}

// Whom the host itself has named, if it is not among the living.
Result<void> check_named_host() {
    const char* word = std::getenv(parent_variable);
    if (!word || !*word)
        return {};
    auto named = base::identity_from_word(word);
    if (!named)
        return fail(Errc::invalid_argument,
                    base::cat(parent_variable, " is \"", std::string_view(word),
                              "\", which is not what ParentWatch::describe_self() gives; unset it"));
    // It need not be our parent: a launcher between us passes the variable on. From another PID namespace it
    // cannot be judged.
    auto process = sys::open_same(*named);
    if (!process && process.error().code == Errc::not_found)
        return it_has_ended();
    return {};
}

bool taken_in_by_systemd(pid_t parent) {
    auto stat = sys::read_stat(parent);
    return stat && stat->comm == "systemd" &&
           core::is_started_by_others(core::unit_of_cgroup(sys::read_cgroups(::getpid())));
}

} // namespace

Result<std::optional<sys::PidFd>> hold_starter() {
    if (auto ok = check_named_host(); !ok)
        return std::unexpected(ok.error());
    const pid_t parent = ::getppid();
    if (parent == 0)
        return std::nullopt; // in a PID namespace around ours: it has no number here
    auto process = sys::PidFd::open(parent);
    const pid_t session = ::getsid(0);
    const pid_t session_of_parent = ::getsid(parent);
    // Pidfd and session first, then: still our parent? Then both were its.
    if (::getppid() != parent || (!process && process.error().code == Errc::not_found))
        return it_has_ended();
    if (!process)
        return std::unexpected(process.error());
    const bool tells = session != 0 && session != ::getpid(); // else it began outside, or with us
    if (tells ? session != session_of_parent : taken_in_by_systemd(parent))
        return it_has_ended();
    if (parent == 1)
        return std::nullopt;
    return std::move(*process);
}

} // namespace holdfast::host
