// Finds everything below this process. This process is a subreaper, so the kernel gives it each descendant
// that loses its parent. "No child left" therefore means that nothing is left.
#pragma once

#include "ending/finder.hpp"
#include "ending/spare.hpp"
#include "holdfast/result.hpp"
#include "sys/pidfd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::ending {

class Tree : public Finder {
public:
    // Makes this process a subreaper.
    static Result<Tree> below_this_process();

    // A child that is not part of the tree: the keeper, seen from the front.
    void leave_out(pid_t child) { left_out_.push_back(child); }
    void spare(SpareList list) { spare_ = std::move(list); }
    [[nodiscard]] bool spares_some() const noexcept { return !spare_.empty(); }
    [[nodiscard]] bool is_spared(pid_t pid) const; // by its command line

    // All living descendants, parents before their children. A spared process and all below it are left out:
    // what a spared daemon starts is its own. For an Ender without Plan::hold.
    void find(const Meet& meet) override;

    struct Ended {
        pid_t pid = 0;
        sys::PidFd::Exit exit;
    };
    // Reaps every child that has ended, without waiting.
    void reap(const std::function<void(const Ended&)>& tell);

    // Nothing is left but what is spared or left out. Exact: the kernel knows all children.
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
    // members() without the spared ones and what is below them.
    [[nodiscard]] std::vector<Member> members_to_end() const;
    SpareList spare_;
    std::vector<pid_t> left_out_;
};

} // namespace holdfast::ending
