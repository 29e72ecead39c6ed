// One way through the slot library, to be killed anywhere on it.
//   slot_step DIRECTORY NAME POLICY [GATE]
// acquires (with a short grace and a short wait), says progress, ready and draining, releases, and ends with
// 0. With GATE, a FIFO, it waits for a byte from there as soon as it owns the slot.
#include "holdfast/slot.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

namespace {

holdfast::IfHeld policy_named(std::string_view name) {
    using enum holdfast::IfHeld;
    return name == "refuse" ? refuse : name == "wait" ? wait : name == "replace" ? replace : attach;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 4)
        return 64;
    using holdfast::Millis;
    auto got = holdfast::acquire({.directory = argv[1], .name = argv[2]}, {.if_held = policy_named(argv[3]),
                                                                           .wait = Millis{50},
                                                                           .grace = Millis{20},
                                                                           .stall = Millis{20},
                                                                           .argv = {"slot_step"}});
    if (!got)
        return got.error().code == holdfast::Errc::held ? 69 : 75;
    if (!got->ownership)
        return 1;
    holdfast::Ownership& mine = *got->ownership;
    if (argc > 4) {
        char byte = 0;
        int gate = ::open(argv[4], O_RDONLY | O_CLOEXEC);
        if (::read(gate, &byte, 1) != 1)
            return 2;
        ::close(gate);
    }
    (void)mine.report_progress(1, 2);
    (void)mine.ready();
    (void)mine.draining();
    mine.release();
    return 0;
}
