// Looking at all helpers: a directory scan, and the kernel's answer for each.
#pragma once

#include "base/record.hpp"
#include "holdfast/result.hpp"
#include "holdfast/values.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::registry {

struct Helper {
    std::string id;
    SlotInfo info; // its lock and record, as of a slot
    base::HelperFacts facts;
    bool alive = false; // registered ones: the very process that was registered lives
    bool elsewhere =
        false; // registered ones: it has a number in another PID namespace only, so nobody here can tell
    bool abandoned = false;     // front and keeper are gone, and processes of the tree live: nobody ends them
    bool being_born = false;    // its starter has the lock, and has not said anything yet
    std::uint64_t tree_rss = 0; // bytes, of all processes of the tree
    std::uint32_t tree_processes = 0;
    std::uint64_t cpu_ticks = 0;
    bool owner_started_keeper = false; // so the keeper is its child, as long as the owner lives
};

struct ListOptions {
    bool measure = true; // memory and count of each tree: costs a scan of /proc
    bool stopped = true; // whether the owner is stopped: with `measure`, a look at each front
    // Also entries whose lock is free. Without it, of those only the registered ones whose process outlives
    // its host.
    bool with_history = false;
};

// Takes, writes and removes nothing. None when there is no such directory. Errors: not_permitted, io.
Result<std::vector<Helper>> list_helpers(const std::string& directory, const ListOptions& options);

// Those that `word` means: an id or a label; if it is neither, the one whose id begins with it, at least 4
// digits.
std::vector<const Helper*> matching(const std::vector<Helper>& helpers, const std::string& word);

} // namespace holdfast::registry
