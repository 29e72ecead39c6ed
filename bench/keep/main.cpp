// The keeper's figures, as rows of a Markdown table.
//   keep-bench [--quick] [--entries N] [--pm2 PATH] [SECTION...]      sections: ending start memory listing
//   respawn
#include "keep/measures.hpp"
#include "stage/stage.hpp"

#include <algorithm>
#include <cstdio>

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    int rounds = 50, respawns = 7, entries = 1000;
    std::string pm2;
    Words sections;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--quick")
            rounds = 10, respawns = 3, entries = 100;
        else if (word == "--entries" && i + 1 < argc)
            entries = std::stoi(argv[++i]);
        else if (word == "--pm2" && i + 1 < argc)
            pm2 = argv[++i];
        else
            sections.push_back(word);
    }
    const auto wanted = [&](const char* name) {
        return sections.empty() || std::find(sections.begin(), sections.end(), name) != sections.end();
    };
    std::puts("| what | holdfast | baseline | ratio | target |\n|---|---|---|---|---|");
    if (wanted("ending"))
        measure_ending(rounds);
    if (wanted("start"))
        measure_start(rounds * 2);
    if (wanted("memory"))
        measure_memory();
    if (wanted("listing"))
        measure_listing(entries);
    if (wanted("respawn"))
        measure_respawn(respawns, pm2);
    return 0;
}
