// Finds the processes that carry the mark of a dead entry or hold its life, by a walk through all processes.
//
// A process that holds life belongs to the entry, whatever its mark and its user are: only a process of this
// tree can have that descriptor. A helper that runs `holdfast run` itself gives its children another mark.
#pragma once

#include "ending/finder.hpp"
#include "ending/mark.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::ending {

class ByMark : public Finder {
public:
    // Found::of is the index of the entry. The lock files of the entries are in `directory`.
    ByMark(std::string directory, const std::vector<DeadEntry>& dead);

    void find(const Meet& meet) override;
    // Hidden: the life of an entry is held. Unclear: a process may be inside exec, where its environment is
    // not there yet.
    [[nodiscard]] Left left() override;
    // One walk can miss a process that forks. A process inside exec shows no environment for an instant.
    [[nodiscard]] int walks_to_be_sure() const override { return 3; }

    [[nodiscard]] bool is_held(std::size_t entry) const; // life is held, and nobody owns the entry

private:
    struct Entry {
        std::string id;
        std::string lock;
        bool spares = false; // a spared daemon may hold life for ever: no reason to walk again
    };
    [[nodiscard]] std::size_t entry_of(pid_t pid, const std::string& environment,
                                       const std::vector<bool>& held) const;
    bool is_unclear(pid_t pid);

    std::vector<Entry> entries_;
    // Processes that show no environment, by PID and start, with the time at which this was first seen.
    std::map<std::pair<pid_t, std::uint64_t>, std::int64_t> blank_since_;
    bool saw_unclear_ = false;
};

} // namespace holdfast::ending
