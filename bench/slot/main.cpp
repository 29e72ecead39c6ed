// The slot's figures, as rows of a Markdown table.
//   slot-bench [--quick] [--against DIRECTORY] [--only SECTION]...    sections: acquire handover status start
//   memory
#include "slot/measures.hpp"
#include "stage/words.hpp"

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    const Words sections{"acquire", "handover", "status", "start", "memory"};
    const Given given = read_words(argc, argv, sections, {});
    const bool quick = given.quick;
    pair_head(given.run);
    if (given.wants("acquire"))
        measure_acquire(given.run, quick ? 2'000 : 20'000);
    if (given.wants("handover"))
        measure_handover(given.run, quick ? 50 : 300);
    if (given.wants("status"))
        measure_status(given.run, quick ? 20 : 100);
    if (given.wants("start"))
        measure_slot_start(given.run, quick ? 20 : 200);
    if (given.wants("memory") && !given.run.other)
        measure_waiter_memory();
    return 0;
}
