// Start storms in bulk: slot-storm [ROUNDS [SEED [ORPHANED_EVERY]]]. Prints rows of a Markdown table; fails
// when anything was not right.
#include "slot_storm/storm.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    using namespace holdfast::storm;
    const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
    const auto seed = static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 815);
    const int orphaned_every = argc > 3 ? std::atoi(argv[3]) : 16;
    const Tally ours = run({.rounds = rounds, .readers = 2, .orphaned_every = orphaned_every, .seed = seed});
    const Tally field = run({.algorithm = Algorithm::unlink_and_create,
                             .rounds = rounds < 100'000 ? rounds : 100'000,
                             .processes = 4,
                             .readers = 0,
                             .seed = seed});
    std::printf("| what | holdfast | unlink and create |\n|---|---|---|\n"
                "| rounds of 2 to 16 (2 to 4) processes at once | %llu | %llu |\n"
                "| rounds with two owners | %llu | %llu |\n"
                "| told \"held\", of these falsely | %llu, %llu | |\n"
                "| rounds without an owner, other failures | %llu, %llu | |\n"
                "| looks of readers beside them | %llu | |\n"
                "| seconds | %.0f | %.0f |\n",
                static_cast<unsigned long long>(ours.rounds), static_cast<unsigned long long>(field.rounds),
                static_cast<unsigned long long>(ours.rounds_with_two),
                static_cast<unsigned long long>(field.rounds_with_two),
                static_cast<unsigned long long>(ours.told_held),
                static_cast<unsigned long long>(ours.false_held),
                static_cast<unsigned long long>(ours.ownerless_rounds),
                static_cast<unsigned long long>(ours.failures),
                static_cast<unsigned long long>(ours.reader_looks), ours.seconds, field.seconds);
    if (!ours.first_failure.empty())
        std::fprintf(stderr, "slot-storm: %s\n", ours.first_failure.c_str());
    const bool right = ours.rounds == rounds && ours.rounds_with_two == 0 && ours.false_held == 0 &&
                       ours.ownerless_rounds == 0 && ours.failures == 0 && ours.epoch_errors == 0;
    return right ? 0 : 1;
}
