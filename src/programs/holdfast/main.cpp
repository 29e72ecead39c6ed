// holdfast: the command that the words name. The program executes itself as the init of a PID namespace, too
// (keep/pid_namespace.hpp); its keeper is a fork and never comes here.
#include "cli/dispatch.hpp"
#include "keep/pid_namespace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace holdfast;

// A descriptor 0, 1 or 2 that is not open would be given to the next file we open, and then written to as if
// it were stderr.
void open_missing_stdio() {
    for (int number : {0, 1, 2})
        if (::fcntl(number, F_GETFD) < 0 && ::open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY) != number)
            return;
}

} // namespace

int main(int argc, char** argv) {
    open_missing_stdio();
    std::string_view self = argc > 0 ? argv[0] : "holdfast";
    if (self == "holdfast-keep" && argc > 1 && std::string_view(argv[1]) == keep::namespace_word)
        return keep::namespace_main(argc, argv);
    return cli::dispatch(std::vector<std::string>(argv, argv + argc));
}
