// The record: what an owner says of itself, as a small JSON file. Reading one never fails loudly: a torn,
// empty, foreign or ancient text is simply no record.
#pragma once

#include "core/helper_facts.hpp"
#include "core/identity.hpp"
#include "holdfast/slot.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::core {

inline constexpr int record_schema = 1;
inline constexpr std::size_t max_record_bytes = std::size_t{256} * 1024; // a larger file is no record of ours

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

std::string to_json(const Record& record);
std::optional<Record> record_from_json(std::string_view text);

} // namespace holdfast::core
