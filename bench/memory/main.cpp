// The memory helper's figures, as rows of a Markdown table.
//   memory-bench [--quick] [--against DIRECTORY] [--only SECTION]...
//   sections: start calls scheduled commits turns text recall million
#include "memory/measures.hpp"
#include "stage/words.hpp"

#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    if (argc == 5 && std::string_view(argv[1]) == "--commits")
        return make_commits(argv[2], std::atoi(argv[3]), argv[4]);
    const Given given = read_words(
        argc, argv, {"start", "calls", "scheduled", "commits", "turns", "text", "recall", "million"}, {});
    const Run& run = given.run;
    const bool quick = given.quick;
    const bool alone =
        !run.other; // rows about the library, or about a store that this commit's library has filled
    pair_head(run);
    if (given.wants("start"))
        measure_memory_start(run, quick ? 10 : 40);
    if (given.wants("calls"))
        measure_cheap_call(run, quick ? 10 : 100);
    if (given.wants("scheduled") && alone)
        measure_cheap_call_scheduled(quick ? 5 : 40);
    if (given.wants("commits") && alone)
        measure_log_watch(run, quick ? 200 : 2'000);
    if (given.wants("turns"))
        measure_turns(run, quick ? 10'000 : 100'000);
    if (given.wants("text"))
        measure_long_text(run, quick ? 3 : 11);
    if (given.wants("recall") && alone)
        measure_recall(run, 30'000, 5);
    if (given.wants("million") && alone && !quick)
        measure_recall(run, 1'000'000, 15);
    return 0;
}
