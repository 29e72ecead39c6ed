#include "cli/dispatch.hpp"

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/manual.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/options.hpp"
#include "cli/shared/print.hpp"

#include <span>
#include <string_view>

namespace holdfast::cli {

int dispatch(const std::vector<std::string>& words) {
    if (words.size() < 2) {
        print(overview());
        return exit_usage;
    }
    std::string_view first = words[1];
    if (first == "--help" || first == "-h")
        first = "help";
    if (first == "--version" || first == "-V")
        first = "version";
    std::string name(first);
    std::size_t used = 2;
    if (is_group(first)) {
        if (words.size() < 3 || words[2] == "--help" || words[2] == "-h") {
            return answer(group_overview(first), words.size() < 3 ? exit_usage : exit_ok);
        }
        name += base::cat(' ', words[2]);
        used = 3;
    }
    const Command* command = find_command(name);
    if (!command) {
        complain(base::cat("there is no command \"", name, "\"; see: holdfast ",
                           used == 3 ? words[1] + " " : "", "--help"));
        return exit_usage;
    }
    auto arguments = parse(*command, std::span(words).subspan(used));
    if (!arguments)
        return fail_with(arguments.error());
    if (arguments->has("help")) {
        return answer(help_of(*command));
    }
    return command->run(*arguments);
}

} // namespace holdfast::cli
