// The registry for a host that starts its helpers itself: who is running for which session, ended by one
// call, found again after the host's crash (docs/registry.md).
//
//   auto registry = holdfast::Registry::open({.host = "my-gateway"});
//   registry->adopt_or_reap_after_restart(holdfast::AfterRestart::reap);   // what a crash of this host left
//   auto worker = registry->register_process(pid, {.label = "slash-worker", .session = key});
//   ...
//   registry->end_session(key);                                            // returns when they are gone
//
// Each entry is a locked record under a fresh id in the profile's directory: `holdfast ps` shows it,
// `holdfast stop` ends it. The lock says whether a host stands behind it; the identity inside (boot, PID
// namespace, number, start, pidfd inode) says which process is meant. A number alone is never believed.
//
// Costs two descriptors per entry. No thread and no timer of its own.
// Threads: every function may be called from any thread; none holds up the others while it waits for
// processes to end. fork(): the child owns nothing. There every function fails with `closed` or answers
// empty, and nothing is written.
#pragma once

#include "holdfast/result.hpp"
#include "holdfast/slot.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

struct RegistryOptions {
    // The name this host goes by, the same at each of its starts: entries of a dead host are offered to its
    // next start only, never to another program of the same profile. 1 to 100 letters, digits, '.', '-', '_'.
    std::string host;
    std::string profile;            // empty: $HOLDFAST_PROFILE, or "default"
    std::string directory;          // empty: the profile's; else entries live here
    std::string events_directory;   // empty: the profile's state directory, or none when `directory` is given
    std::size_t max_entries = 1000; // living and finished. Adopted ones are taken in even beyond it
    Millis ttl{600'000};            // how long a finished entry is remembered, counted from its end
    bool reap = false; // true: the registry reaps registered children. false: it only looks (the host waits
                       // for its children itself, and finds every exit status untouched)
};

// What the host says of a process. Words of up to 1000 bytes each; argv is kept up to 16 KB, the rest is cut
// off.
struct ProcessNotes {
    std::string label; // empty: the program's own name
    std::string session;
    std::string task;
    std::vector<std::string> argv; // empty: as the process itself shows it
};

// One entry at one moment.
struct Registered {
    std::string id;
    std::string label;
    std::string session;
    std::string task;
    std::vector<std::string> argv;
    int pid = 0;
    bool alive = false;   // the very process that was registered, not one of the same number
    bool adopted = false; // it was registered by an earlier run of this host
    Millis age{0};        // since it was registered
    Millis ended_ago{0};  // since its end was noticed; only when not alive
    std::optional<int>
        exit_status;  // code, or 128 + signal, of one that ended; none where nobody could learn it
    std::string host; // the name of the host that registered it
    int host_pid = 0; // the process that owns the entry now; 0: nobody does
};

// What ending brought about. The truth: a process is in `ended` when it is gone, and all that is not is in
// `survivors`.
struct EndReport {
    std::vector<Registered> ended;
    std::vector<Leftover> survivors; // living although they were sent KILL, or may not be signalled
    [[nodiscard]] bool clean() const noexcept { return survivors.empty(); }
};

enum class AfterRestart { adopt, reap, leave };
using RestartPolicy = std::function<AfterRestart(const Registered&)>;

struct RestartReport {
    std::vector<Registered> adopted; // living, and owned by this host from now on
    std::vector<Registered> ended;   // living, and ended by this call
    std::vector<Registered>
        finished; // already dead when found (their numbers may be others' by now: not touched)
    std::vector<Registered> left;    // by the policy, or because they cannot be judged or taken from here
    std::vector<Leftover> survivors; // were to be ended and live on; their entries are adopted
};

class Registry {
public:
    // Errors: invalid_argument, unsafe_directory, not_permitted, no_space, io.
    static Result<Registry> open(const RegistryOptions& options);

    Registry(Registry&&) noexcept;
    Registry& operator=(Registry&&) noexcept;
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;
    // Ends nothing. Entries of living processes stay, free for the next start of this host; finished ones are
    // removed.
    ~Registry();

    // Registers a process that runs. By number: the caller must know that the number is still that process's,
    // as it does for a child that it has not waited for. By pidfd there is no such condition; the descriptor
    // stays the caller's. Errors: not_found (it has ended), held (registered here already), overflow
    // (max_entries living ones; finished ones make way, the longest ended first), invalid_argument (this
    // process itself, PID 1, words too long), unreachable, closed, no_space.
    Result<Registered> register_process(int pid, const ProcessNotes& notes);
    Result<Registered> register_pidfd(int pidfd, const ProcessNotes& notes);

    // Entries of this host, living and finished, oldest first. An empty key is no session and no task, and
    // means nobody: not those that have none.
    [[nodiscard]] std::vector<Registered> all();
    [[nodiscard]] std::vector<Registered> find(std::string_view session);
    [[nodiscard]] std::vector<Registered> find_task(std::string_view task);
    [[nodiscard]] std::optional<Registered> get(std::string_view id);
    [[nodiscard]] bool has_active(std::string_view session);

    // Registered entries of all hosts of the profile, dead hosts included. Takes, writes and removes nothing.
    [[nodiscard]] Result<std::vector<Registered>> survey() const;

    // TERM and CONT to all of them and to everything below them, wait for all, after `grace` KILL to all: as
    // long as the slowest, not as long as the sum. Each through a pidfd that was opened before it was
    // checked. What had left a process's tree before (a daemon that forked twice) is not seen: `holdfast run`
    // is for those. Errors: not_found (no such entry), invalid_argument (an empty session), closed. Survivors
    // are no error but in the report.
    Result<EndReport> end(std::string_view id, const StopOptions& how = {});
    Result<EndReport> end_session(std::string_view session, const StopOptions& how = {});
    Result<EndReport> end_all(const StopOptions& how = {});

    // Removes an entry and leaves its process alone. False: there is none of that id.
    bool forget(std::string_view id);

    // After a start: what an earlier run of this host left is taken over or ended, whichever the policy says
    // of each. Of two hosts that try at once each entry goes to one. Entries whose host lives are never
    // touched, and neither is any process but the very one that was registered. Safe to call at any time.
    Result<RestartReport> adopt_or_reap_after_restart(AfterRestart policy, const StopOptions& how = {});
    Result<RestartReport> adopt_or_reap_after_restart(const RestartPolicy& policy,
                                                      const StopOptions& how = {});

    // Readable when some registered process has ended since collect() was last called. Valid as long as the
    // Registry. An end is noticed by whichever call comes first after it; whoever wants it dated exactly
    // polls this.
    [[nodiscard]] int poll_fd() const noexcept;
    // Those that have ended since the last call, each told once.
    std::vector<Registered> collect();

    // Forgets the finished whose end is `ttl` or more before `now`, and says how many. `now` in ms of the
    // boot clock, as clock_ms() gives it. Call it now and then; register_process() does so too.
    std::size_t expire(std::int64_t now);
    static std::int64_t clock_ms() noexcept;

private:
    struct Impl;
    explicit Registry(std::unique_ptr<Impl> impl) noexcept;
    [[nodiscard]] bool mine() const noexcept;
    void let_go() noexcept;
    Result<EndReport> end_those(const std::function<bool(const Registered&)>& wanted, const StopOptions& how);
    std::unique_ptr<Impl> impl_;
};

} // namespace holdfast
