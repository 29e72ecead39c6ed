// A host to be killed at any system call: `stepped_host adopt DIR` or `stepped_host register DIR PID`. Leaves
// without destroying its registry, as a crash would.
#include "holdfast/registry.hpp"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc < 3)
        return 2;
    auto registry = holdfast::Registry::open({.host = "stepped", .directory = argv[2]});
    if (!registry)
        return 3;
    bool good = false;
    if (std::strcmp(argv[1], "adopt") == 0) {
        auto report = registry->adopt_or_reap_after_restart(holdfast::AfterRestart::adopt);
        good = report && report->adopted.size() == 1;
    } else if (argc == 4) {
        good =
            registry->register_process(std::atoi(argv[3]), {.label = "worker", .session = "A", .task = "t"})
                .has_value();
    }
    ::_exit(good ? 0 : 1);
}
