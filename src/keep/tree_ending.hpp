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
    [[nodiscard]] std::optional<core::StopReason> reason() const noexcept { return machine_.reason(); }
    // When to tick next, at the latest.
    [[nodiscard]] sys::Deadline next() const;
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
};

} // namespace holdfast::keep
