// holdfast: the command that the words name. The program executes itself as the init of a PID namespace, too
// (keep/pid_namespace.hpp); its keeper is a fork and never comes here.
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/manual.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/options.hpp"
#include "cli/shared/print.hpp"
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

int dispatch(const std::vector<std::string>& words) {
    if (words.size() < 2) {
        cli::print(cli::overview());
        return cli::exit_usage;
    }
    std::string_view first = words[1];
    if (first == "--help" || first == "-h")
        first = "help";
    if (first == "--version" || first == "-V")
        first = "version";
    std::string name(first);
    std::size_t used = 2;
    if (cli::is_group(first)) {
        if (words.size() < 3 || words[2] == "--help" || words[2] == "-h") {
            return cli::answer(cli::group_overview(first), words.size() < 3 ? cli::exit_usage : cli::exit_ok);
        }
        name += base::cat(' ', words[2]);
        used = 3;
    }
    const cli::Command* command = cli::find_command(name);
    if (!command) {
        cli::complain(base::cat("there is no command \"", name, "\"; see: holdfast ",
                                used == 3 ? words[1] + " " : "", "--help"));
        return cli::exit_usage;
    }
    auto arguments = cli::parse(*command, std::span(words).subspan(used));
    if (!arguments)
        return cli::fail_with(arguments.error());
    if (arguments->has("help")) {
        return cli::answer(cli::help_of(*command));
    }
    return command->run(*arguments);
}

} // namespace

int main(int argc, char** argv) {
    open_missing_stdio();
    std::string_view self = argc > 0 ? argv[0] : "holdfast";
    if (self == "holdfast-keep" && argc > 1 && std::string_view(argv[1]) == keep::namespace_word)
        return keep::namespace_main(argc, argv);
    return dispatch(std::vector<std::string>(argv, argv + argc));
}
