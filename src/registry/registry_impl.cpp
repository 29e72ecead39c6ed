#include "registry/registry_impl.hpp"

#include "base/text.hpp"
#include "registry/listing.hpp"
#include "slot/ownership.hpp"
#include "sys/clock.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace holdfast {

namespace {

constexpr std::size_t longest_word = 1000;
constexpr std::size_t longest_argv =
    16 * 1024; // so that a record, escaped at its worst, stays readable (core/record.hpp)

std::vector<std::string> cut(const std::vector<std::string>& argv) {
    std::vector<std::string> out;
    std::size_t room = longest_argv;
    for (const std::string& word : argv) {
        if (room == 0)
            break;
        out.push_back(word.substr(0, room));
        room -= std::min(room, word.size() + 1);
    }
    return out;
}

} // namespace

namespace registry {

Registered describe(const std::string& id, const base::Record& record, bool alive, pid_t owner) {
    const base::HelperFacts& facts = *record.helper;
    Registered out{.id = id,
                   .label = facts.label,
                   .session = record.session,
                   .task = facts.task,
                   .argv = record.argv,
                   .pid = facts.helper.pid,
                   .alive = alive,
                   .host = facts.registered_by,
                   .host_pid = owner};
    if (facts.helper.boot_id != sys::boot_id())
        return out; // its times are of another clock
    std::int64_t now = sys::boottime_ms();
    out.age = Millis{std::max<std::int64_t>(0, now - record.since)};
    if (facts.ended_at)
        out.ended_ago = Millis{std::max<std::int64_t>(0, now - facts.ended_at)};
    if (facts.ended_at && facts.exit_status >= 0)
        out.exit_status = facts.exit_status;
    return out;
}

Registered describe(const Helper& helper) {
    base::Record record{.since = sys::boottime_ms() - helper.info.age.count(),
                        .argv = helper.info.argv,
                        .session = helper.info.session,
                        .helper = helper.facts};
    return describe(helper.id, record, helper.alive, helper.info.owner_pid);
}

} // namespace registry

void Registry::Impl::tell(const Held& one, const char* type, std::string reason) const {
    if (events.directory().empty())
        return;
    const base::HelperFacts& facts = one.entry.facts();
    registry::Event event{.type = type,
                          .id = one.entry.id(),
                          .label = facts.label,
                          .pid = facts.helper.pid,
                          .reason = std::move(reason)};
    if (facts.ended_at && facts.exit_status >= 0)
        event.status = facts.exit_status;
    events.append(std::move(event));
}

void Registry::Impl::unwatch(Held& one) {
    // Deleted, not only closed: a forked child may still have the pidfd, and its copy would keep ringing
    // here.
    if (one.process)
        ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, one.process->fd(), nullptr);
}

void Registry::Impl::note_end(Held& one) {
    unwatch(one);
    auto reaped = options.reap ? one.process->try_reap() : std::nullopt;
    int status = reaped ? reaped->status : one.process->peek_exit_status().value_or(-1);
    // The record is for others, who see by identity that the process is gone even if this cannot be written
    // (disk full).
    (void)one.entry.update([&](base::HelperFacts& facts) {
        facts.ended_at = sys::boottime_ms();
        facts.exit_status = status;
    });
    news.push_back(one.entry.id());
    const std::uint64_t ring = 1;
    (void)!::write(bell.get(), &ring, sizeof ring);
    tell(one, "exited");
}

void Registry::Impl::refresh() {
    std::array<epoll_event, 64> ready{};
    for (bool more = true; more;) {
        int n = ::epoll_wait(epoll.get(), ready.data(), static_cast<int>(ready.size()), 0);
        more = false;
        for (int i = 0; i < n; ++i) {
            auto at = held.find(ready[static_cast<std::size_t>(i)].data.u64);
            if (at == held.end())
                continue; // the bell
            note_end(at->second);
            more = true;
        }
    }
    // Of a process that is not our child the status can be had only after its parent has reaped it.
    for (auto& [order, one] : held) {
        if (!one.ended() || one.entry.facts().exit_status != -1 || !one.process)
            continue;
        if (auto status = one.process->peek_exit_status())
            (void)one.entry.update([&](base::HelperFacts& facts) { facts.exit_status = *status; });
    }
}

void Registry::Impl::drop(std::map<std::uint64_t, Held>::iterator at) {
    unwatch(at->second);
    std::erase(news, at->second.entry.id()); // a host that never collects must not gather news for ever
    held.erase(at);
}

std::size_t Registry::Impl::expire(std::int64_t now) {
    std::size_t before = held.size();
    for (auto at = held.begin(); at != held.end();) {
        auto one = at++;
        if (one->second.ended() && now - one->second.entry.facts().ended_at >= options.ttl.count())
            drop(one);
    }
    return before - held.size();
}

Result<void> Registry::Impl::make_room() {
    expire(sys::boottime_ms());
    while (held.size() >= options.max_entries) {
        auto oldest = held.end();
        for (auto at = held.begin(); at != held.end(); ++at)
            if (at->second.ended() && (oldest == held.end() || at->second.entry.facts().ended_at <
                                                                   oldest->second.entry.facts().ended_at))
                oldest = at;
        if (oldest == held.end())
            return fail(Errc::overflow, base::cat("the registry of \"", options.host, "\" has ", held.size(),
                                                  " living processes, and max_entries is ",
                                                  options.max_entries, "; end some, or raise it"));
        drop(oldest);
    }
    return {};
}

Result<void> Registry::Impl::keep(Held one) {
    std::uint64_t order = next++;
    if (one.process && !one.ended()) {
        epoll_event event{.events = EPOLLIN, .data = {.u64 = order}};
        if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, one.process->fd(), &event) != 0) {
            int error = errno;
            if (one.adopted)
                one.entry.leave_behind(); // as it was found
            return sys::fail_sys(base::cat("watch process ", one.process->pid()), error);
        }
    }
    held.emplace(order, std::move(one));
    return {};
}

Result<Registered> Registry::Impl::add(sys::PidFd process, const ProcessNotes& notes) {
    if (process.pid() == ::getpid() || process.pid() == 1)
        return fail(Errc::invalid_argument, base::cat("process ", process.pid(), " is ",
                                                      process.pid() == 1 ? "PID 1" : "this process itself",
                                                      " and cannot be registered as a helper"));
    for (const std::string* word : {&notes.label, &notes.session, &notes.task})
        if (word->size() > longest_word)
            return fail(Errc::invalid_argument, base::cat("label, session and task may have ", longest_word,
                                                          " bytes each; one has ", word->size()));
    auto identity = sys::identify(process);
    if (!identity)
        return std::unexpected(identity.error());
    refresh();
    for (const auto& [order, one] : held)
        if (!one.ended() && base::same_process(one.entry.facts().helper, *identity))
            return fail(Errc::held,
                        base::cat("process ", process.pid(), " is registered already, as ", one.entry.id()));
    if (auto room = make_room(); !room)
        return std::unexpected(room.error());

    std::vector<std::string> argv = cut(notes.argv.empty() ? sys::read_cmdline(process.pid()) : notes.argv);
    base::HelperFacts facts{.label = notes.label,
                            .helper = std::move(*identity),
                            .host_pid = ::getpid(),
                            .host_command = sys::command_line_for_people(::getpid()),
                            .task = notes.task,
                            .registered = true,
                            .registered_by = options.host};
    if (facts.label.empty())
        facts.label =
            argv.empty() ? base::cat("process ", process.pid()) : argv[0].substr(argv[0].rfind('/') + 1);
    facts.label.resize(std::min(facts.label.size(), longest_word));
    auto entry = registry::Entry::create(directory, std::move(argv), notes.session, std::move(facts));
    if (!entry)
        return std::unexpected(entry.error());
    if (auto ready = entry->ownership().ready(); !ready)
        return std::unexpected(ready.error());
    Registered out = registry::describe(entry->id(), entry->record(), true, home);
    if (auto kept = keep({.entry = std::move(*entry), .process = std::move(process)}); !kept)
        return std::unexpected(kept.error());
    tell(held.rbegin()->second, "registered");
    return out;
}

std::vector<Registered> Registry::Impl::matching(const std::function<bool(const Held&)>& wanted) const {
    std::vector<Registered> out;
    for (const auto& [order, one] : held) {
        if (!wanted(one))
            continue;
        out.push_back(registry::describe(one.entry.id(), one.entry.record(), !one.ended(), home));
        out.back().adopted = one.adopted;
    }
    return out;
}

} // namespace holdfast
