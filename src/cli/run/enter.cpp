#include "cli/run/enter.hpp"

#include "base/text.hpp"
#include "cli/run/pid_files.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "host/starter.hpp"
#include "registry/swept_events.hpp"
#include "slot/acquire.hpp"
#include "sys/memory_trim.hpp"
#include "sys/program_path.hpp"

#include <unistd.h>

namespace holdfast::cli {

namespace {

Result<std::optional<sys::PidFd>> hold_host(const HostChoice& choice) {
    switch (choice.kind) {
    case HostChoice::Kind::none:
        return std::nullopt;
    case HostChoice::Kind::parent:
        return host::hold_starter();
    case HostChoice::Kind::process:
        break;
    }
    auto process = sys::PidFd::open(choice.pid);
    if (!process)
        return fail(Errc::cancelled,
                    base::cat("nothing is started: its host, process ", choice.pid, ", has ended"));
    return std::move(*process);
}

// End what double kills have left behind before waiting for anything: it may hold the slot.
Result<void> end_left_behind(const RunPlan& plan, const registry::EventLog& events) {
    if (auto ok = prepare_directory(plan.places.helpers); !ok) {
        if (may_be_unlisted(plan, ok.error()))
            return {}; // said when the entry cannot be made
        return ok;
    }
    registry::tell_of_swept(events, slot::sweep(plan.places.helpers));
    return {};
}

// The lock's directory is there and ours, and what the words name can be used.
Result<SlotLocation> locate(const RunPlan& plan, const SlotPlan& slot) {
    if (auto ok = sys::check_program(plan.front.keep.command.front()); !ok)
        return std::unexpected(ok.error());
    auto directory = slot.directory ? full_slot_directory(*slot.directory) : plan.places.slots;
    if (!directory)
        return std::unexpected(directory.error());
    if (auto ok = prepare_directory(*directory); !ok)
        return std::unexpected(ok.error());
    SlotLocation location{.directory = std::move(*directory), .name = slot.name};
    if (auto ok = check_pid_file(slot, location); !ok)
        return std::unexpected(ok.error());
    return location;
}

Result<Acquired> take(const SlotPlan& slot, const SlotLocation& location, host::HostWatch& wanted,
                      const registry::EventLog& events) {
    AcquireOptions how = slot.acquire;
    how.cancel_fd = wanted.fd();
    how.cancel_is_meant = [&wanted] { return wanted.gone(); };
    how.before_long_wait = sys::drop_code_pages; // it may be one of hours
    // Guards may be killed while we wait. Their leftovers are ended then.
    auto acquired = slot::acquire_telling(
        location, how,
        {.swept = [&events](const auto& swept) { registry::tell_of_swept(events, swept); },
         .blocked = [](const std::string& by) { complain(base::cat("waiting: ", by)); }});
    if (!acquired &&
        (acquired.error().code == Errc::held || acquired.error().code == Errc::too_many_takeovers))
        events.append({.unix_ms = 0,
                       .type = "refused",
                       .id = {},
                       .label = slot.name,
                       .pid = 0,
                       .reason = std::string(name_of(acquired.error().code)),
                       .status = {}});
    return acquired;
}

Result<void> enter_slot(const RunPlan& plan, const SlotPlan& slot, const registry::EventLog& events,
                        Entered& out) {
    auto location = locate(plan, slot);
    if (!location)
        return std::unexpected(location.error());
    if (auto ok = end_left_behind(plan, events); !ok)
        return ok;
    auto wanted =
        host::HostWatch::of(out.host ? out.host->fd() : -1, plan.front.watch_input ? STDIN_FILENO : -1,
                            plan.front.keep.plan.stages.front().wait);
    if (!wanted)
        return std::unexpected(wanted.error());
    out.wanted = std::move(*wanted);

    auto acquired = take(slot, *location, *out.wanted, events);
    if (!acquired)
        return std::unexpected(acquired.error());
    if (!acquired->ownership) {
        out.attached_to = std::move(acquired->attached_to);
        return {};
    }
    out.slot = std::move(acquired->ownership);
    auto settled = settle_foreign_holder(slot, *out.wanted, events);
    if (!settled)
        return std::unexpected(settled.error());
    if (*settled) {
        out.attached_to = std::move(**settled);
        return {};
    }
    // Once more: whoever owned the slot before us is gone now, and with it what it may have written.
    if (auto ok = check_pid_file(slot, *location); !ok)
        return ok;
    if (slot.pid_file)
        out.pid_file = pid_file_text(slot, plan.front.keep.command);
    return {};
}

Result<void> enter_all(const RunPlan& plan, const registry::EventLog& events, Entered& out) {
    auto host = hold_host(plan.host);
    if (!host)
        return std::unexpected(host.error());
    out.host = std::move(*host);
    if (!plan.slot)
        return end_left_behind(plan, events);
    auto ok = enter_slot(plan, *plan.slot, events, out);
    // No other step than the wait for the slot is cancelled.
    if (!ok && ok.error().code == Errc::cancelled)
        return host_went(*plan.slot);
    return ok;
}

} // namespace

Result<Entered> enter(const RunPlan& plan, const registry::EventLog& events) {
    Result<Entered> out(std::in_place);
    if (auto ok = enter_all(plan, events, *out); !ok)
        out = std::unexpected(ok.error());
    return out;
}

} // namespace holdfast::cli
