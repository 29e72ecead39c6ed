// What stands behind a Registry.
#pragma once

#include "holdfast/registry.hpp"
#include "registry/entry.hpp"
#include "registry/events.hpp"
#include "sys/fd.hpp"
#include "sys/pidfd.hpp"

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

struct Registry::Impl {
    // One entry that this process owns.
    struct Held {
        registry::Entry entry;
        std::optional<sys::PidFd> process; // none when it was found dead
        bool adopted = false;
        [[nodiscard]] bool ended() const { return entry.facts().ended_at != 0; }
    };

    Impl(RegistryOptions wanted, std::string where, std::string events_where)
        : options(std::move(wanted))
        , directory(std::move(where))
        , events(std::move(events_where)) {}

    // All of these are called with the mutex held.
    void refresh(); // notices every end since the last call
    Result<Registered> add(sys::PidFd process, const ProcessNotes& notes);
    Result<void> make_room();
    Result<void> keep(Held held);                          // watches it and makes it ours
    void drop(std::map<std::uint64_t, Held>::iterator at); // removes the entry, leaves the process alone
    void unwatch(Held& held);
    void note_end(Held& held);
    std::size_t expire(std::int64_t now);
    [[nodiscard]] std::vector<Registered> matching(const std::function<bool(const Held&)>& wanted) const;
    void tell(const Held& held, const char* type, std::string reason = {}) const;

    const pid_t home = ::getpid(); // the child of a fork has another
    RegistryOptions options;
    std::string directory;
    registry::EventLog events; // with an empty directory: nobody is told
    std::mutex mutex;
    sys::Fd epoll;                      // the pidfds of the living, and the bell
    sys::Fd bell;                       // an eventfd: there is news
    std::map<std::uint64_t, Held> held; // by order of coming
    std::uint64_t next = 1;             // 0 is the bell
    std::vector<std::string> news;      // ids of the ended that collect() has not told yet
};

namespace registry {

// An entry as callers see it. `owner` is 0 when nobody owns it.
Registered describe(const std::string& id, const base::Record& record, bool alive, pid_t owner);
struct Helper;
Registered describe(const Helper& helper); // one that was found in the directory

} // namespace registry

} // namespace holdfast
