#include "cli/doctor/doctor.hpp"

#include "base/text.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "doctor/doctor.hpp"

#include <charconv>

namespace holdfast::cli {

namespace {

constexpr Option under_option = {.name = "under", .value = "PID", .help = "only what is below this process"};
constexpr Option watch_option = {
    .name = "window", .value = "DUR", .help = "how long to watch whether something is idle (500ms)"};
constexpr Option json_option = {.name = "json", .value = "", .help = "as JSON"};

constexpr Option for_doctor[] = {json_option, under_option, watch_option};
constexpr Option for_reap[] = {
    {.name = "yes", .value = "", .help = "end them; without it, only say what would be ended", .letter = 'y'},
    {.name = "grace", .value = "DUR", .help = "from asking to KILL (2s)"},
    json_option,
    under_option,
    watch_option,
};

Result<doctor::ExamineOptions> look_where(const Arguments& arguments) {
    doctor::ExamineOptions out;
    if (auto text = arguments.value("under")) {
        pid_t pid = 0;
        auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), pid);
        if (error != std::errc{} || end != text->data() + text->size() || pid <= 0)
            return fail(Errc::invalid_argument,
                        base::cat("--under needs the number of a process, not \"", *text, "\""));
        out.under = pid;
    }
    auto window = duration_option(arguments, "window");
    if (!window)
        return std::unexpected(window.error());
    out.window = window->value_or(out.window);
    return out;
}

Result<doctor::Report> look(const Arguments& arguments) {
    auto where = look_where(arguments);
    return where ? doctor::examine(*where) : std::unexpected(where.error());
}

} // namespace

std::span<const Option> doctor_options() {
    return for_doctor;
}
std::span<const Option> reap_options() {
    return for_reap;
}

int doctor_command(const Arguments& arguments) {
    auto report = look(arguments);
    if (!report)
        return fail_with(report.error());
    return arguments.has("json") ? answer_json(doctor::to_json(*report)) : answer(doctor::to_text(*report));
}

int reap_command(const Arguments& arguments) {
    doctor::ReapOptions how;
    auto grace = duration_option(arguments, "grace");
    if (!grace)
        return fail_with(grace.error());
    how.grace = grace->value_or(how.grace);
    how.yes = arguments.has("yes");
    auto report = look(arguments);
    if (!report)
        return fail_with(report.error());
    auto reaped = doctor::reap(*report, how);
    if (!reaped)
        return fail_with(reaped.error());
    const int code = reaped->complete() ? exit_ok : exit_leftovers;
    return arguments.has("json") ? answer_json(doctor::to_json(*reaped), code)
                                 : answer(doctor::to_text(*reaped), code);
}

} // namespace holdfast::cli
