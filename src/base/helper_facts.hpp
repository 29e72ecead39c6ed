// What a registry entry says of a helper, beyond what every record says.
#pragma once

#include "base/identity.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::base {

struct HelperFacts {
    std::string label; // --name, or the command's own
    Identity helper;   // the command itself; pid 0 while there is none
    Identity keeper;
    int host_pid = 0;
    Identity host; // the same, as it was seen at the start; pid 0 while unknown
    std::string host_command;
    std::string task;
    std::uint32_t restarts = 0;
    std::string stop_plan;
    std::vector<std::string> spare;
    std::string containment;   // "plain", "cgroup", "pidns"
    std::string cgroup_place;  // the cgroup in which the keeper makes one for the helper, if it does
    std::string log;           // path of the copy of stderr, if any
    std::string slot;          // the slot it runs under, if any
    bool registered = false;   // started by a host itself and only registered here: there is no keeper
    std::string registered_by; // the name its host goes by over restarts; only when registered
    std::int64_t ended_at = 0; // boot time in ms; registered ones are remembered for a while
    int exit_status = 0;       // of one that ended: code, 128 + signal, or -1 when nobody could learn it

    bool operator==(const HelperFacts&) const = default;
};

} // namespace holdfast::base
