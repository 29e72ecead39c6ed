// The slot's figures, as rows of a Markdown table.
//   slot-bench [--quick]
#include "slot/measures.hpp"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
    std::puts("| what | holdfast | baseline | ratio | target |\n|---|---|---|---|---|");
    measure_acquire(quick ? 2'000 : 20'000);
    measure_handover(quick ? 50 : 300);
    measure_status(quick ? 20 : 100);
    measure_slot_start(quick ? 20 : 100);
    measure_waiter_memory();
    return 0;
}
