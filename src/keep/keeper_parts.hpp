// The keeper as one object, which keeper.cpp drives in one loop. keeper_start.cpp starts the helper,
// keeper_restart.cpp starts it again, keeper_front.cpp talks with the front (or the library) and hears
// signals, keeper_limits.cpp watches the limits.
#pragma once

#include "core/backoff.hpp"
#include "ending/ender.hpp"
#include "ending/tree.hpp"
#include "keep/control.hpp"
#include "keep/keeper_options.hpp"
#include "keep/log_copy.hpp"
#include "registry/events.hpp"
#include "sys/cgroup.hpp"
#include "sys/clock.hpp"
#include "sys/pidfd.hpp"
#include "sys/signals.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::keep {

using ending::SpareList;
using ending::Tree;

class Keeper {
public:
    Keeper(const KeeperOptions& options, Tree tree, sys::SignalQueue signals, SpareList spare)
        : options_(options)
        , control_(sys::Fd(options.control_fd))
        , host_(options.host_fd)
        , tree_(std::move(tree))
        , signals_(std::move(signals))
        , ending_(ending::subreaper_plan(options.plan)) {
        tree_.spare(std::move(spare));
    }

    int run();
    void clear_after_front();

private:
    bool contain();
    bool start();
    void note_end(const Tree::Ended& ended);
    void hear_control();
    void pass_on(int signal, std::optional<std::uint64_t> value);
    void hear_signals();
    void reap();
    void equip(ending::Ender& ender);
    void kill_old_generation();
    void consider_restart();
    [[nodiscard]] bool old_generation_gone();
    void watch_limits();
    void begin_stop(core::StopReason reason);
    struct News {
        std::string message;
        registry::Event event; // what the front makes of it; an empty type: nothing to log
    };
    void tell(std::string message, registry::Event event);
    void tell_what_waits();
    void let_go_of_stdio();
    [[nodiscard]] bool wants_restart() const;
    [[nodiscard]] sys::Deadline next_wake() const;
    [[nodiscard]] std::vector<std::string> environment() const;

    const KeeperOptions& options_;
    Control control_;
    sys::Fd host_;
    Tree tree_;
    sys::SignalQueue signals_;
    ending::Ender ending_;
    std::optional<ending::Ender> old_generation_; // what a crash left, before its replacement starts
    std::optional<sys::Cgroup> cgroup_;
    bool memory_by_cgroup_ = false;
    std::optional<LogCopy> log_;
    bool control_open_ = true;
    std::vector<News> to_be_told_;

    pid_t helper_ = 0; // 0 between a crash and its replacement
    std::optional<sys::PidFd::Exit> last_exit_;
    core::Backoff backoff_;
    std::optional<std::int64_t> start_again_at_; // boot time in ms
    std::int64_t started_at_ = 0;
    std::int64_t born_ = sys::boottime_ms();
    std::uint32_t restarts_ = 0;
    std::uint64_t last_io_ = 0;
    std::uint64_t last_cpu_ns_ = 0;
    std::int64_t moved_at_ = 0;
    std::int64_t next_measure_ = 0;
};

} // namespace holdfast::keep
