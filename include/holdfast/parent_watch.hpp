// For workers: one call in main, and the worker learns at once that its parent is gone, or that it has been
// idle for too long.
//
//   auto watch = holdfast::ParentWatch::with_callback({.idle = 10min}, [](holdfast::WatchFired why) {
//   _exit(0); });
//   ... watch->touch() with each request
//
// or, in an event loop, ParentWatch::start() and fd(). The library itself never ends the process: what
// happens is the caller's callback.
//
// The parent is held by a pidfd that was opened first and checked after (getppid once more), so neither a
// recycled PID nor a thread of the parent that ends is mistaken for its death. Where the kernel or a sandbox
// has no pidfd_open, PR_SET_PDEATHSIG takes its place: its signal is only a hint, upon which getppid is
// asked, so it does not misfire either; but it belongs to the *thread* that sets it and is lost when that
// thread ends. with_callback() sets it in its own thread; who calls start() there must do so in a thread that
// stays. method() says which of the two it is.
//
// A parent that was dead before the call has left nothing to hold. So the host says who it is: it puts
// ParentWatch::describe_self() into the worker's environment as HOLDFAST_PARENT, and the watch fires at once
// when that very process is not the parent (any more). Without it only this is noticed: that the worker
// belongs to PID 1 already (see init_is_parent).
//
// Threads: every function may be called from any thread. fork(): the child's copy does nothing.
#pragma once

#include "holdfast/result.hpp"
#include "holdfast/values.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace holdfast {

enum class WatchFired { parent_gone, idle };

inline constexpr const char* parent_variable = "HOLDFAST_PARENT";

struct ParentWatchOptions {
    std::optional<Millis>
        idle; // fires when touch() was not called for this long; the machine's sleep does not count
    // PID 1 is a real parent (the host is a container's first process), not the one that inherits orphans.
    // Not needed when HOLDFAST_PARENT is set.
    bool init_is_parent = false;
    // Only for the stated fallback; 0: SIGRTMIN + 6. Refused with `held` when it has a handler already.
    int fallback_signal = 0;
};

class ParentWatch {
public:
    enum class Method { pidfd, death_signal };

    // Errors: invalid_argument (an idle limit of zero or less, a HOLDFAST_PARENT that is none), held,
    // no_space, io.
    static Result<ParentWatch> start(const ParentWatchOptions& options = {});
    // The same, with a small thread (all signals blocked) that calls back once, when it fires. Destroying the
    // watch ends the thread; after that no callback comes. The callback may destroy the watch.
    static Result<ParentWatch> with_callback(const ParentWatchOptions& options,
                                             std::function<void(WatchFired)> callback);

    ParentWatch(ParentWatch&&) noexcept;
    ParentWatch& operator=(ParentWatch&&) noexcept;
    ParentWatch(const ParentWatch&) = delete;
    ParentWatch& operator=(const ParentWatch&) = delete;
    ~ParentWatch();

    // Readable when it may have fired: ask fired(). Valid as long as the watch.
    [[nodiscard]] int fd() const noexcept;
    // Why it fired, if it did. A parent once gone stays gone; idleness ends with touch().
    [[nodiscard]] std::optional<WatchFired> fired() const;
    // Not idle: the limit counts from now again.
    void touch() const noexcept;
    [[nodiscard]] Method method() const noexcept;

    // Who this process is, for HOLDFAST_PARENT in the environment of its workers.
    static Result<std::string> describe_self();

private:
    struct Impl;
    explicit ParentWatch(std::shared_ptr<Impl> impl) noexcept;
    [[nodiscard]] bool mine() const noexcept;
    void stop() noexcept;
    std::shared_ptr<Impl> impl_;
};

} // namespace holdfast
