// The record as a value: what an owner says of itself. records/record.hpp writes and reads it.
#pragma once

#include "base/helper_facts.hpp"
#include "base/identity.hpp"
#include "holdfast/values.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::base {

struct Record {
    // Different for each text that is written. It stands at both ends of the text, and one with two different
    // ones is no record: a reader that was overtaken by two writers may see the head of one and the tail of
    // another.
    std::uint64_t written = 0;
    std::string name;
    std::uint64_t epoch = 0;
    Phase phase = Phase::starting;
    std::string status;
    std::uint64_t progress_done = 0;
    std::uint64_t progress_total = 0;
    std::int64_t progress_at = 0;    // boot time in ms when progress_done last moved
    std::int64_t patience_until = 0; // boot time in ms until which the owner asked for patience; 0: did not
    std::int64_t since = 0;          // boot time in ms
    std::int64_t since_unix_ms = 0;  // for people only, never compared
    Identity identity;
    std::string version;
    std::vector<std::string> argv;
    std::string address;
    std::string session;
    std::vector<std::int64_t> takeovers; // boot times in ms of the takeovers that led here, newest last
    std::optional<HelperFacts> helper;   // only in the registry's records
    std::string entry; // of a slot that `holdfast run` took: the lock file of its helper's entry

    bool operator==(const Record&) const = default;
};

} // namespace holdfast::base
