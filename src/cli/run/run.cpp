// `holdfast run` from its words to its exit code: plan, enter, keep, report.
#include "cli/run/run.hpp"

#include "cli/run/enter.hpp"
#include "cli/run/keep.hpp"
#include "cli/run/plan.hpp"
#include "cli/run/report.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast::cli {

namespace {

Result<RunSurroundings> look_around(const Arguments& arguments) {
    auto places = places_of(arguments);
    if (!places)
        return std::unexpected(places.error());
    RunSurroundings out{.places = std::move(*places)};
    struct stat input{};
    out.client_on_input =
        ::fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));
    out.terminal_on_input = ::isatty(STDIN_FILENO) == 1;
    if (const char* above = std::getenv("NOTIFY_SOCKET"))
        out.notify_socket = above;
    return out;
}

} // namespace

int run_command(const Arguments& arguments) {
    auto around = look_around(arguments);
    if (!around)
        return fail_with(around.error());
    const auto plan = plan_run(arguments, std::move(*around));
    if (!plan)
        return fail_with(plan.error());
    const registry::EventLog events(plan->places.events);
    auto entered = enter(*plan, events);
    if (!entered)
        return fail_with(entered.error());
    if (entered->attached_to)
        return report_owner(*entered->attached_to, plan->slot->owner_as_json);
    const auto result = keep_command(*plan, *entered, events);
    return result ? report(*plan, *result) : fail_with(result.error());
}

} // namespace holdfast::cli
