// Ending registered processes, and what a dead host left behind.
#include "base/text.hpp"
#include "ending/ender.hpp"
#include "registry/listing.hpp"
#include "registry/registry_impl.hpp"
#include "sys/clock.hpp"
#include "sys/proc.hpp"

#include <algorithm>

namespace holdfast {

namespace {
std::unexpected<Error> in_a_fork() {
    return fail(Errc::closed,
                "this registry belongs to the process that opened it; this one is a fork of it");
}
} // namespace

Result<EndReport> Registry::end_those(const std::function<bool(const Registered&)>& wanted,
                                      const StopOptions& how) {
    ending::Ender ender(ending::unmarked_trees(how.grace, how.patience, how.now));
    std::vector<std::string> ids;
    {
        std::lock_guard guard(impl_->mutex);
        impl_->refresh();
        for (const auto& [order, held] : impl_->held) {
            if (held.ended() ||
                !wanted(registry::describe(held.entry.id(), held.entry.record(), true, impl_->home)))
                continue;
            auto process = held.process->duplicate();
            if (!process)
                return std::unexpected(process.error());
            ids.push_back(held.entry.id());
            impl_->tell(held, "stopping", "asked by its host");
            ender.add(std::move(*process));
        }
    }
    EndReport out{.ended = {}, .survivors = ender.finish().leftovers()};
    std::lock_guard guard(impl_->mutex);
    impl_->refresh();
    out.ended = impl_->matching([&](const Impl::Held& held) {
        return held.ended() && std::find(ids.begin(), ids.end(), held.entry.id()) != ids.end();
    });
    return out;
}

Result<EndReport> Registry::end(std::string_view id, const StopOptions& how) {
    if (!mine())
        return in_a_fork();
    if (!get(id))
        return fail(Errc::not_found,
                    base::cat("this host has no registered process under the id \"", id, "\""));
    return end_those([&](const Registered& one) { return one.id == id; }, how);
}

Result<EndReport> Registry::end_session(std::string_view session, const StopOptions& how) {
    if (!mine())
        return in_a_fork();
    // Not "all without a session": a host whose key got lost on the way would end them all.
    if (session.empty())
        return fail(Errc::invalid_argument, "an empty key is no session");
    return end_those([&](const Registered& one) { return one.session == session; }, how);
}

Result<EndReport> Registry::end_all(const StopOptions& how) {
    if (!mine())
        return in_a_fork();
    return end_those([](const Registered&) { return true; }, how);
}

Result<RestartReport> Registry::adopt_or_reap_after_restart(AfterRestart policy, const StopOptions& how) {
    return adopt_or_reap_after_restart([policy](const Registered&) { return policy; }, how);
}

// The mutex is taken only to take an entry in: the policy is the caller's code and may ask this very
// registry.
Result<RestartReport> Registry::adopt_or_reap_after_restart(const RestartPolicy& policy,
                                                            const StopOptions& how) {
    if (!mine())
        return in_a_fork();
    auto found = registry::list_helpers(impl_->directory, {.measure = false, .with_history = true});
    if (!found)
        return std::unexpected(found.error());
    RestartReport out;
    ending::Ender ender(ending::unmarked_trees(how.grace, how.patience, how.now));
    std::vector<Impl::Held> ending;
    for (const registry::Helper& helper : *found) {
        if (!helper.facts.registered || helper.facts.registered_by != impl_->options.host ||
            helper.info.state == SlotState::owned)
            continue;
        Registered seen = registry::describe(helper);
        AfterRestart wish = policy(seen);
        auto entry = wish == AfterRestart::leave ? fail(Errc::cancelled, "left by the policy")
                                                 : registry::Entry::take_over(impl_->directory, helper.id);
        if (!entry) {
            out.left.push_back(std::move(seen));
            continue;
        }
        // Ours now, so nobody else changes it; and now the identity decides, as the record says it at this
        // moment.
        auto process = sys::open_same(entry->facts().helper);
        if (!process && process.error().code != Errc::not_found) {
            entry->leave_behind(); // in another PID namespace it may well live
            out.left.push_back(std::move(seen));
            continue;
        }
        bool alive = process.has_value() && entry->facts().ended_at == 0;
        (void)entry->update([&](base::HelperFacts& facts) {
            facts.host_pid = impl_->home;
            facts.host_command = sys::command_line_for_people(impl_->home);
            if (!alive && facts.ended_at == 0) {
                facts.ended_at = sys::boottime_ms(); // noticed now
                facts.exit_status = -1;
            }
        });
        Registered now = registry::describe(entry->id(), entry->record(), alive, impl_->home);
        now.adopted = true;
        bool of_this_boot = entry->facts().helper.boot_id == sys::boot_id();
        Impl::Held held{.entry = std::move(*entry), .process = std::nullopt, .adopted = true};
        if (!alive) {
            out.finished.push_back(std::move(now));
            std::lock_guard guard(impl_->mutex);
            if (wish == AfterRestart::adopt && of_this_boot)
                (void)impl_->keep(
                    std::move(held)); // remembered for the rest of its time; else gone with `held`
            continue;
        }
        held.process = std::move(*process);
        if (wish == AfterRestart::reap) {
            if (auto copy = held.process->duplicate())
                ender.add(std::move(*copy));
            ending.push_back(std::move(held));
            continue;
        }
        std::lock_guard guard(impl_->mutex);
        impl_->tell(held, "adopted");
        if (auto kept = impl_->keep(std::move(held)); !kept)
            return std::unexpected(kept.error());
        out.adopted.push_back(std::move(now));
    }

    out.survivors = ender.finish().leftovers();
    for (Impl::Held& held : ending) {
        Registered now =
            registry::describe(held.entry.id(), held.entry.record(), !held.process->ended(), impl_->home);
        now.adopted = true;
        std::lock_guard guard(impl_->mutex);
        if (now.alive) {
            (void)impl_->keep(std::move(held)); // lives on: not to be lost sight of
            continue;
        }
        impl_->tell(held, "reaped", "its host had died");
        out.ended.push_back(std::move(now));
    }
    return out;
}

} // namespace holdfast
