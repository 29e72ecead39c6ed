// A host with a supervisor, to be killed: holds the helper whose command follows, says "ready <helper pid>",
// and waits.
//   --fork    has a forked child that outlives it and says so: "child <pid>"
//   --exit    leaves by exit() at the end of its input, with the hold still open
//   --without-stdio    has let go of 0, 1 and 2 before it makes its supervisor, and speaks elsewhere
#include "holdfast/supervisor.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char** argv) {
    bool forks = false;
    bool leaves = false;
    int input = STDIN_FILENO;
    FILE* output = stdout;
    int at = 1;
    for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
        forks = forks || std::strcmp(argv[at], "--fork") == 0;
        leaves = leaves || std::strcmp(argv[at], "--exit") == 0;
        if (std::strcmp(argv[at], "--without-stdio") == 0) {
            input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
            output = ::fdopen(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100), "w");
            for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
                ::close(number);
        }
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
        std::fprintf(output, "child %d\n", static_cast<int>(child));
    }
    std::fprintf(output, "ready %d\n", hold->status().pid);
    std::fflush(output);
    char byte = 0;
    while (::read(input, &byte, 1) > 0) {
    }
    if (leaves)
        std::exit(0);
    for (;;)
        ::pause();
}
