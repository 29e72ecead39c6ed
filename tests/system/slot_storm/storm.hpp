// Start storms: a pool of processes that all want one slot at the same instant, round after round.
//
// The processes are forked once and meet at a start line in shared memory, since a sequential start passes on
// every broken algorithm. What is counted is counted in shared memory as well: how many processes are owners
// at one moment, and whether everybody who was told "held" was told the truth.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::storm {

enum class Algorithm {
    slot,              // Holdfast
    unlink_and_create, // the field's "it is stale, unlink it, create it with O_EXCL", as a negative control
};

struct Plan {
    Algorithm algorithm = Algorithm::slot;
    std::uint64_t rounds = 1000;
    int processes = 16;      // largest number in a round; each round takes 2 to this many
    int readers = 1;         // processes that query and list all the time
    int orphaned_every = 16; // rounds; those begin with leftovers that go in their middle
    unsigned seed = 1;
    int round_limit_ms = 20'000;
    bool until_two = false; // end with the first round that had two owners
};

struct Tally {
    std::uint64_t rounds = 0;
    std::uint64_t attempts = 0;
    std::uint64_t owners = 0;        // times that somebody became the owner
    std::uint64_t double_owners = 0; // times that somebody became it while another was
    std::uint64_t rounds_with_two = 0;
    std::uint32_t most_at_once = 0;
    std::uint64_t ownerless_rounds = 0;
    std::uint64_t told_held = 0;    // refuse and attach
    std::uint64_t false_held = 0;   // named somebody who had not owned it, or had left before the question
    std::uint64_t epoch_errors = 0; // an epoch that did not grow
    std::uint64_t failures = 0;     // anything else that is neither ownership nor held
    std::uint64_t reader_looks = 0;
    std::uint64_t reader_failures = 0;
    std::uint64_t empty = 0, stale = 0, torn = 0, orphaned = 0; // rounds that began in that state
    std::string first_failure;
    double seconds = 0;
};

// Runs the plan. Ends early, with a first_failure, when a round does not end within its limit.
Tally run(const Plan& plan);

} // namespace holdfast::storm
