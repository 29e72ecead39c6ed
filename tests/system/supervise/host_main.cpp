// A host with a supervisor, to be killed: holds the helper whose command follows, says "ready <helper pid>",
// and waits.
//   --fork    has a forked child that outlives it and says so: "child <pid>"
//   --exit    leaves by exit() at the end of its input, with the hold still open
#include "holdfast/supervisor.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

int main(int argc, char** argv) {
    bool forks = false;
    bool leaves = false;
    int at = 1;
    for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
        forks = forks || std::strcmp(argv[at], "--fork") == 0;
        leaves = leaves || std::strcmp(argv[at], "--exit") == 0;
    }
    auto supervisor = holdfast::Supervisor::create();
    if (!supervisor)
        return 1;
    holdfast::HelperSpec spec;
    spec.command.assign(argv + at + 1, argv + argc);
    spec.stop_plan = "eof:500ms,term:500ms,kill";
    // Never destroyed: this host leaves without a word.
    auto* hold = new holdfast::Hold(std::move(*supervisor->hold(spec)));
    if (!hold->request("echo"))
        return 2;
    if (forks) {
        const pid_t child = ::fork();
        if (child == 0) {
            for (;;)
                ::pause();
        }
        std::printf("child %d\n", static_cast<int>(child));
    }
    std::printf("ready %d\n", hold->status().pid);
    std::fflush(stdout);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    if (leaves)
        std::exit(0);
    for (;;)
        ::pause();
}
