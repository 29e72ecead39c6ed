// The signs by which a helper's processes are recognised when their guards (front and keeper) are dead.
#pragma once

#include "base/identity.hpp"

#include <string>
#include <vector>

namespace holdfast::ending {

// The name of the variable that marks every process of a helper's tree with its entry's id.
inline constexpr const char* mark_variable = "HOLDFAST_MARK";

// A registry entry whose guards are dead.
struct DeadEntry {
    std::string id;
    std::vector<std::string> spare; // patterns of daemons that are meant to stay
    std::string cgroup_place;       // the parent of its cgroup, if it has one; empty: our own cgroup
    base::Identity helper = {};     // the command, if the record names it
};

} // namespace holdfast::ending
