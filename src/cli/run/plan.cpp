#include "cli/run/plan.hpp"

#include "base/names.hpp"
#include "base/text.hpp"
#include "cli/shared/settings.hpp"
#include "core/stop_plan.hpp"
#include "ending/spare.hpp"
#include "registry/entry.hpp"
#include "slot/foreign_holder.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <utility>

namespace holdfast::cli {

namespace {

template <class N>
bool read_number(const std::string& text, N& out) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

// Empty when the option was not given.
std::string text_of(const Arguments& arguments, std::string_view option) {
    return arguments.value(option).value_or("");
}

// The first of the errors, if there is one.
template <class... Results>
Result<void> first_error(const Results&... results) {
    for (const Error* error : std::initializer_list<const Error*>{results ? nullptr : &results.error()...})
        if (error)
            return std::unexpected(*error);
    return {};
}

Result<void> needless(std::string_view option, std::string_view with) {
    return fail(Errc::invalid_argument, base::cat("--", option, " does nothing without ", with));
}

// An option that would do nothing is a mistake, and better told than found out.
Result<void> check_effects(const Arguments& arguments, const core::StopPlan& plan) {
    if (arguments.value("restart").value_or("never") == "never")
        for (const char* option : {"restart-delay", "restart-max"})
            if (arguments.has(option))
                return needless(option, "--restart on-failure or --restart always");
    const bool replaces = arguments.value("if-held") == "replace";
    if (arguments.has("stall") && arguments.has("slot") && !replaces)
        return needless("stall", "--if-held replace");
    if (arguments.has("json") && arguments.value("if-held") != "attach")
        return needless("json", "--if-held attach");
    const bool asks = std::ranges::any_of(
        plan.stages, [](const core::StopStage& one) { return one.action == core::StopAction::terminate; });
    if (arguments.has("grace") && !asks && !replaces)
        return needless("grace", "a term stage in --stop, or --if-held replace");
    if (arguments.has("spare") && arguments.value("contain") == "pidns")
        return fail(Errc::invalid_argument,
                    "--spare and --contain pidns do not go together: nobody outlives a "
                    "PID namespace");
    return {};
}

Result<void> check_restart(const Arguments& arguments, const RunSurroundings& around) {
    if (around.client_on_input)
        return fail(Errc::invalid_argument, "--restart is for helpers without a client on stdin: the "
                                            "client would talk to a stranger after a "
                                            "restart. Use </dev/null, or leave --restart out");
    if (arguments.has("pty"))
        return fail(Errc::invalid_argument,
                    "--restart and --pty do not go together: a terminal has one life");
    return {};
}

Result<void> fill_policy(const Arguments& arguments, const RunSurroundings& around, keep::KeepPolicy& out) {
    auto stop = core::parse_stop_plan(arguments.value("stop").value_or("mcp"));
    auto grace = duration_option(arguments, "grace");
    auto idle = duration_option(arguments, "idle");
    auto life = duration_option(arguments, "max-life");
    auto memory = size_option(arguments, "memory");
    auto delay = duration_option(arguments, "restart-delay");
    auto containment = keep::parse_containment(arguments.value("contain").value_or("auto"));
    auto restart = keep::parse_restart(arguments.value("restart").value_or("never"));
    auto spare = ending::SpareList::compile(arguments.all("spare"));
    if (auto ok = first_error(stop, grace, idle, life, memory, delay, containment, restart, spare); !ok)
        return ok;
    if (auto ok = check_effects(arguments, *stop); !ok)
        return ok;

    out.command = arguments.command;
    out.plan = std::move(*stop);
    if (*grace)
        for (core::StopStage& stage : out.plan.stages)
            if (stage.action == core::StopAction::terminate)
                stage.wait = **grace;
    out.idle = idle->value_or(Millis{0});
    out.max_life = life->value_or(Millis{0});
    out.memory = memory->value_or(0);
    out.containment = *containment;
    out.spare = arguments.all("spare");
    out.restart = *restart;
    out.backoff.initial = delay->value_or(out.backoff.initial);
    out.backoff.max = std::max(out.backoff.max, out.backoff.initial);
    if (auto most = arguments.value("restart-max"))
        if (!read_number(*most, out.backoff.max_failures) || out.backoff.max_failures > core::most_failures)
            return fail(Errc::invalid_argument, base::cat("--restart-max is a number from 0 to ",
                                                          core::most_failures, ", not \"", *most, "\""));
    return out.restart == keep::Restart::never ? Result<void>() : check_restart(arguments, around);
}

Result<void> fill_host(const Arguments& arguments, HostChoice& out) {
    const std::string word = text_of(arguments, "host");
    if (!arguments.has("host") || word == "parent")
        return {};
    out.kind = word == "none" ? HostChoice::Kind::none : HostChoice::Kind::process;
    if (out.kind == HostChoice::Kind::process && (!read_number(word, out.pid) || out.pid <= 0))
        return fail(Errc::invalid_argument,
                    base::cat("--host is parent, none or a process number, not \"", word, "\""));
    return {};
}

IfHeld policy_of(const Arguments& arguments) {
    const std::string word = text_of(arguments, "if-held");
    if (word == "wait")
        return IfHeld::wait;
    if (word == "replace")
        return IfHeld::replace;
    if (word == "attach")
        return IfHeld::attach;
    return IfHeld::refuse;
}

Result<void> check_slot_words(const Arguments& arguments) {
    if (!arguments.has("slot")) {
        for (const char* option :
             {"if-held", "wait", "stall", "slot-dir", "pidfile", "pidfile-format", "adopt", "adopt-match"})
            if (arguments.has(option))
                return fail(Errc::invalid_argument,
                            base::cat("--", std::string_view(option), " goes with --slot NAME"));
        return {};
    }
    if (auto ok = base::check_slot_name(*arguments.value("slot")); !ok)
        return ok;
    for (auto [option, with] : {std::pair("pidfile-format", "pidfile"), std::pair("adopt-match", "adopt")})
        if (arguments.has(option) && !arguments.has(with))
            return fail(Errc::invalid_argument,
                        base::cat("--", std::string_view(option), " goes with --", std::string_view(with)));
    for (const char* option : {"pidfile", "adopt"})
        if (arguments.value(option) == "")
            return fail(Errc::invalid_argument,
                        base::cat("--", std::string_view(option), " needs the path of a file"));
    return slot::check_match(arguments.value("adopt-match").value_or(""));
}

std::string label_of(const Arguments& arguments) {
    if (auto name = arguments.value("name"))
        return *name;
    const std::string& command = arguments.command.front();
    return command.substr(command.rfind('/') + 1);
}

Result<void> fill_slot(const Arguments& arguments, std::optional<SlotPlan>& out) {
    if (auto ok = check_slot_words(arguments); !ok || !arguments.has("slot"))
        return ok;
    auto wait = duration_option(arguments, "wait");
    auto grace = duration_option(arguments, "grace");
    auto stall = duration_option(arguments, "stall");
    if (auto ok = first_error(wait, grace, stall); !ok)
        return ok;

    SlotPlan& slot = out.emplace();
    slot.name = text_of(arguments, "slot");
    slot.directory = arguments.value("slot-dir");
    slot.acquire.if_held = policy_of(arguments);
    slot.acquire.argv = arguments.command;
    slot.acquire.session = text_of(arguments, "session");
    slot.acquire.wait = *wait;
    slot.acquire.grace = grace->value_or(slot.acquire.grace);
    slot.acquire.stall = stall->value_or(slot.acquire.stall);
    if (arguments.has("pidfile")) {
        PidFilePlan& file = slot.pid_file.emplace();
        file.path = text_of(arguments, "pidfile");
        file.json = text_of(arguments, "pidfile-format") == "json";
    }
    if (arguments.has("adopt")) {
        AdoptPlan& adopt = slot.adopt.emplace();
        adopt.path = text_of(arguments, "adopt");
        adopt.match = text_of(arguments, "adopt-match");
    }
    slot.owner_as_json = arguments.has("json");
    return {};
}

Result<void> fill(const Arguments& arguments, RunSurroundings around, RunPlan& out) {
    if (auto ok = check_keys(arguments); !ok)
        return ok;
    if (auto ok = fill_policy(arguments, around, out.front.keep); !ok)
        return ok;
    if (auto ok = fill_host(arguments, out.host); !ok)
        return ok;
    if (auto ok = fill_slot(arguments, out.slot); !ok)
        return ok;
    out.label = label_of(arguments);
    out.session = text_of(arguments, "session");
    out.task = text_of(arguments, "task");
    // The end of a file, or of /dev/null, is nobody's letting go.
    out.front.watch_input = around.client_on_input || around.terminal_on_input;
    out.front.pty = arguments.has("pty");
    if (text_of(arguments, "ready") == "notify")
        out.front.readiness = keep::Readiness::notify;
    out.front.notify_above = std::move(around.notify_socket);
    out.places = std::move(around.places);
    out.with_log = arguments.has("log");
    out.limits.idle = text_of(arguments, "idle");
    out.limits.max_life = text_of(arguments, "max-life");
    out.limits.memory = text_of(arguments, "memory");
    return {};
}

} // namespace

Result<RunPlan> plan_run(const Arguments& arguments, RunSurroundings around) {
    Result<RunPlan> out(std::in_place);
    if (auto ok = fill(arguments, std::move(around), *out); !ok)
        out = std::unexpected(ok.error());
    return out;
}

bool may_be_unlisted(const RunPlan& plan, const Error& error) {
    return !plan.slot && registry::Entry::can_do_without(error);
}

std::unexpected<Error> host_went(const SlotPlan& slot) {
    return fail(Errc::cancelled,
                base::cat("gave up on the slot \"", slot.name,
                          "\": the process that wanted it has ended, or has closed its input"));
}

} // namespace holdfast::cli
