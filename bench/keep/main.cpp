// The keeper's figures, as rows of a Markdown table.
//   keep-bench [--quick] [--against DIRECTORY] [--entries N] [--pm2 PATH] [--only SECTION]...
//   sections: ending start memory listing respawn
#include "keep/measures.hpp"
#include "stage/words.hpp"

#include <cstdlib>

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    Given given =
        read_words(argc, argv, {"ending", "start", "memory", "listing", "respawn"}, {"entries", "pm2"});
    const std::string entries = given.values["entries"];
    const int listed = entries.empty() ? (given.quick ? 100 : 1000) : std::atoi(entries.c_str());
    if (listed < 1)
        give_up("--entries needs a number, not \"" + entries + "\"");
    const int rounds = given.quick ? 10 : 60;
    pair_head(given.run);
    if (given.wants("ending"))
        measure_ending(given.run, rounds);
    if (given.wants("start"))
        measure_start(given.run, given.quick ? 20 : 200);
    if (given.wants("memory") && !given.run.other)
        measure_memory();
    if (given.wants("listing"))
        measure_listing(given.run, listed);
    if (given.wants("respawn"))
        measure_respawn(given.run, given.quick ? 3 : 15, given.values["pm2"]);
    return 0;
}
