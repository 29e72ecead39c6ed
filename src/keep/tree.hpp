// Everything below this process. As a subreaper it is the parent of last resort for all its descendants: who
// double-forks or loses its parent comes home to it, so "no child left" means that nothing is left.
#pragma once

#include "holdfast/result.hpp"
#include "registry/spare.hpp"
#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::keep {

using registry::SpareList;

class Tree {
public:
    // Makes this process a subreaper. `own_children`: children that are not part of the tree (the keeper,
    // seen from the front) are left out of everything below.
    static Result<Tree> below_this_process();

    void leave_out(pid_t child) { left_out_.push_back(child); }
    void spare(SpareList list) { spare_ = std::move(list); }
    [[nodiscard]] bool spares_some() const noexcept { return !spare_.empty(); }
    [[nodiscard]] bool is_spared(pid_t pid) const; // by its command line

    // TERM and CONT, KILL or any other signal to every descendant, each by a pidfd that was opened before its
    // place in the tree was checked. Returns how many were sent this signal for the first time.
    std::size_t signal_all(int signal);

    struct Ended {
        pid_t pid = 0;
        sys::PidFd::Exit exit;
    };
    // Reaps every child that has ended, without waiting.
    void reap(const std::function<void(const Ended&)>& tell);

    // Nothing is left but what is spared and left out. Exact: the kernel knows all children.
    [[nodiscard]] bool empty();

    struct Member {
        pid_t pid = 0;
        pid_t parent = 0;
        std::uint64_t start_ticks = 0;
        char state = '?';
    };
    // Descendants by a walk, parents before children; zombies included.
    [[nodiscard]] std::vector<Member> members() const;
    // The living ones with their commands, for a truthful report.
    [[nodiscard]] std::vector<std::pair<pid_t, std::string>> survivors();

private:
    // Without those that are spared and what hangs below them: it is theirs.
    [[nodiscard]] std::vector<Member> members_to_end() const;
    SpareList spare_;
    std::vector<pid_t> left_out_;
    int last_signal_ = 0;
    std::set<std::pair<pid_t, std::uint64_t>> signalled_; // with last_signal_; by number and start
};

} // namespace holdfast::keep
