// The memory helper's figures, as rows of a Markdown table.
//   memory-bench [--quick]
#include "memory/measures.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    if (argc == 5 && std::string_view(argv[1]) == "--commits")
        return make_commits(argv[2], std::atoi(argv[3]), argv[4]);
    const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
    std::puts("| what | holdfast | baseline | ratio | target |\n|---|---|---|---|---|");
    measure_memory_start(quick ? 10 : 40);
    measure_cheap_call(quick ? 2'000 : 20'000);
    measure_cheap_call_scheduled(quick ? 5 : 40);
    measure_log_watch(quick ? 200 : 2'000);
    measure_turns(quick ? 10'000 : 100'000);
    measure_long_text(quick ? 3 : 11);
    measure_recall(30'000, "under 5 ms");
    if (!quick)
        measure_recall(1'000'000, "under 15 ms");
    return 0;
}
