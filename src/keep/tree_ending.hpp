// Ends a tree by a stop plan. Used by the keeper, and by the front when the keeper was killed.
#pragma once

#include "core/stop_plan.hpp"
#include "keep/tree.hpp"
#include "sys/cgroup.hpp"
#include "sys/clock.hpp"

#include <optional>

namespace holdfast::keep {

class TreeEnding {
public:
    // `tell` hears of every child that is reaped while killing.
    TreeEnding(Tree& tree, core::StopPlan plan, std::function<void(const Tree::Ended&)> tell)
        : tree_(tree)
        , machine_(std::move(plan))
        , tell_(std::move(tell)) {}

    void use(sys::Cgroup* cgroup) noexcept { cgroup_ = cgroup; }

    // Begins, or hurries. Safe to call again with another reason.
    void begin(core::StopReason reason);
    // To be called after every wake-up and reaping: moves the plan on, and repeats KILL until nothing is
    // left.
    void tick();
    [[nodiscard]] bool running() const noexcept { return machine_.running(); }
    // KILL has been sent: all that is left to do is to wait for the kernel.
    [[nodiscard]] bool killing() const noexcept { return killing_since_.has_value(); }
    [[nodiscard]] std::optional<core::StopReason> reason() const noexcept { return machine_.reason(); }
    // When to tick next, at the latest.
    [[nodiscard]] sys::Deadline next() const;
    // While the kernel is ending a cgroup: what to poll (POLLPRI) until it has, instead of each child's
    // death. To reap them one by one as they die takes the processors from those that are still dying. -1 at
    // all other times.
    [[nodiscard]] int cgroup_watch() const noexcept {
        return waits_for_cgroup_ ? cgroup_->populated_fd() : -1;
    }
    // KILL was sent, and something does not go (uninterruptible, or another user's): it is time to say so.
    [[nodiscard]] bool given_up() const;

private:
    void carry_out(core::StopAction action);
    bool killed_by_cgroup();
    Tree& tree_;
    core::StopMachine machine_;
    std::function<void(const Tree::Ended&)> tell_;
    sys::Cgroup* cgroup_ = nullptr;
    std::optional<std::int64_t> killing_since_;
    std::optional<sys::Deadline> walk_at_; // once the cgroup was killed
    bool waits_for_cgroup_ = false;
};

} // namespace holdfast::keep
