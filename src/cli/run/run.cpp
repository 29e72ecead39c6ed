#include "cli/run/run.hpp"

#include "base/text.hpp"
#include "cli/run/enter_slot.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "host/starter.hpp"
#include "keep/front.hpp"
#include "records/paths.hpp"
#include "registry/helper_logs.hpp"
#include "registry/spare.hpp"
#include "registry/sweep.hpp"
#include "slot/ownership.hpp"
#include "sys/cgroup.hpp"
#include "sys/proc.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace holdfast::cli {

namespace {

constexpr Option options[] = {
    {.name = "slot", .value = "NAME", .help = "run as the only one of this name"},
    {.name = "slot-dir",
     .value = "DIR",
     .help = "where the slot's lock lives (default: the profile's); put it beside the data it guards"},
    {.name = "if-held",
     .value = "POLICY",
     .help = "when the slot has an owner: refuse (exit 69), wait, replace it, or attach (print its address)",
     .choices = "refuse|wait|replace|attach"},
    {.name = "wait",
     .value = "DUR",
     .help = "wait at most this long for the slot (default: for ever under wait and replace, else 10s)"},
    {.name = "grace",
     .value = "DUR",
     .help = "from TERM to KILL: of an owner that is replaced (5s), and of the command (2s)"},
    {.name = "stall",
     .value = "DUR",
     .help = "replace a starting owner only when its progress stands still this long (30s)"},
    {.name = "ready",
     .value = "HOW",
     .help = "auto: ready once it runs, unless it reports its start; notify: starting until READY=1",
     .choices = "auto|notify"},
    {.name = "pidfile",
     .value = "PATH",
     .help = "write a PID file for tools that expect one; removed at the end if still ours. One that names a "
             "living process of others is left alone (exit 73)"},
    {.name = "pidfile-format",
     .value = "FORMAT",
     .help = "plain (a number) or json (pid, start_time, argv, kind)",
     .choices = "plain|json"},
    {.name = "adopt",
     .value = "PATH",
     .help = "take over from a holder that is not ours and only left this PID file; one whose start time or "
             "command does not fit the file is named and left alone"},
    {.name = "adopt-match",
     .value = "REGEX",
     .help = "accept that holder as proven when its command line matches, whatever command the file names"},
    {.name = "name",
     .value = "NAME",
     .help = "what to call it in ps, stop and logs (default: the command's name)"},
    {.name = "session", .value = "KEY", .help = "the session it belongs to"},
    {.name = "task", .value = "ID", .help = "the task it belongs to"},
    {.name = "stop",
     .value = "PLAN",
     .help = "how to end it: mcp (eof:2s,term:2s,kill), now, or stages of your own"},
    {.name = "idle",
     .value = "DUR",
     .help = "end it when it does nothing this long: no I/O, no work, no word on NOTIFY_SOCKET"},
    {.name = "max-life", .value = "DUR", .help = "end it after this long"},
    {.name = "memory",
     .value = "SIZE",
     .help = "end it when its tree uses more than this (by cgroup, else by watching)"},
    {.name = "restart",
     .value = "WHEN",
     .help = "start it again when it ends; not with a client on stdin",
     .choices = "never|on-failure|always"},
    {.name = "restart-delay",
     .value = "DUR",
     .help = "the first pause of the geometric backoff (100ms); a first failure is answered at once"},
    {.name = "restart-max",
     .value = "N",
     .help = "give up after this many failures in a row or within two minutes (8; 0: never)"},
    {.name = "pty", .value = "", .help = "give it a terminal of its own"},
    {.name = "log", .value = "", .help = "copy its stderr to a bounded file; see holdfast logs"},
    {.name = "spare",
     .value = "REGEX",
     .help = "leave daemons whose command line matches alive (none by default); not with --contain pidns",
     .repeatable = true},
    {.name = "contain",
     .value = "HOW",
     .help = "auto (cgroup where possible), plain, cgroup, or pidns",
     .choices = "auto|plain|cgroup|pidns"},
    {.name = "host",
     .value = "PID",
     .help = "the process whose death ends it: parent (default), none, or a PID; when it is dead already, "
             "nothing is started (exit 75)"},
    {.name = "json", .value = "", .help = "with --if-held attach: print the owner as JSON"},
};

// The process whose death is the end of the helper.
Result<std::optional<sys::PidFd>> find_host(const Arguments& arguments) {
    std::string word = arguments.value("host").value_or("parent");
    if (word == "none")
        return std::nullopt;
    if (word == "parent")
        return host::hold_starter();
    pid_t pid = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), pid);
    if (error != std::errc{} || end != word.data() + word.size() || pid <= 0)
        return fail(Errc::invalid_argument,
                    base::cat("--host is parent, none or a process number, not \"", word, "\""));
    auto process = sys::PidFd::open(pid);
    if (!process)
        return fail(Errc::cancelled, base::cat("nothing is started: its host, process ", pid, ", has ended"));
    return std::move(*process);
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

bool stdin_has_client() {
    struct stat file{};
    return ::fstat(STDIN_FILENO, &file) == 0 && (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode));
}

Result<keep::FrontOptions> front_options(const Arguments& arguments) {
    keep::FrontOptions out;
    keep::KeeperOptions& keeper = out.keeper;
    keeper.command = arguments.command;
    auto plan = core::parse_stop_plan(arguments.value("stop").value_or("mcp"));
    auto grace = duration_option(arguments, "grace");
    auto idle = duration_option(arguments, "idle");
    auto life = duration_option(arguments, "max-life");
    auto memory = size_option(arguments, "memory");
    auto delay = duration_option(arguments, "restart-delay");
    auto containment = keep::parse_containment(arguments.value("contain").value_or("auto"));
    auto restart = keep::parse_restart(arguments.value("restart").value_or("never"));
    auto spare = registry::SpareList::compile(arguments.all("spare"));
    for (const Error* error : std::initializer_list<const Error*>{
             plan ? nullptr : &plan.error(), grace ? nullptr : &grace.error(), idle ? nullptr : &idle.error(),
             life ? nullptr : &life.error(), memory ? nullptr : &memory.error(),
             delay ? nullptr : &delay.error(), containment ? nullptr : &containment.error(),
             restart ? nullptr : &restart.error(), spare ? nullptr : &spare.error()})
        if (error)
            return std::unexpected(*error);
    if (auto ok = check_effects(arguments, *plan); !ok)
        return std::unexpected(ok.error());
    keeper.plan = std::move(*plan);
    if (*grace)
        for (core::StopStage& stage : keeper.plan.stages)
            if (stage.action == core::StopAction::terminate)
                stage.wait = **grace;
    keeper.idle = idle->value_or(Millis{0});
    keeper.max_life = life->value_or(Millis{0});
    keeper.memory = memory->value_or(0);
    keeper.containment = *containment;
    keeper.spare = arguments.all("spare");
    keeper.restart = *restart;
    keeper.backoff.initial = delay->value_or(keeper.backoff.initial);
    keeper.backoff.max = std::max(keeper.backoff.max, keeper.backoff.initial);
    if (auto most = arguments.value("restart-max")) {
        auto [end, error] =
            std::from_chars(most->data(), most->data() + most->size(), keeper.backoff.max_failures);
        if (error != std::errc{} || end != most->data() + most->size() ||
            keeper.backoff.max_failures > core::most_failures)
            return fail(Errc::invalid_argument, base::cat("--restart-max is a number from 0 to ",
                                                          core::most_failures, ", not \"", *most, "\""));
    }
    if (keeper.restart != keep::Restart::never) {
        if (stdin_has_client())
            return fail(Errc::invalid_argument, "--restart is for helpers without a client on stdin: the "
                                                "client would talk to a stranger after a "
                                                "restart. Use </dev/null, or leave --restart out");
        if (arguments.has("pty"))
            return fail(Errc::invalid_argument,
                        "--restart and --pty do not go together: a terminal has one life");
    }
    // The end of a file, or of /dev/null, is nobody's letting go.
    out.watch_input = stdin_has_client() || ::isatty(STDIN_FILENO) == 1;
    out.pty = arguments.has("pty");
    if (arguments.value("ready") == "notify")
        out.readiness = keep::Readiness::notify;
    if (const char* above = std::getenv("NOTIFY_SOCKET"))
        out.notify_above = above;
    auto host = find_host(arguments);
    if (!host)
        return std::unexpected(host.error());
    out.host = std::move(*host);
    return out;
}

std::string label_of(const Arguments& arguments) {
    if (auto name = arguments.value("name"))
        return *name;
    const std::string& command = arguments.command.front();
    return command.substr(command.rfind('/') + 1);
}

int report(const keep::FrontResult& result, const Arguments& arguments) {
    if (result.error)
        return fail_with(*result.error);
    if (!result.survivors.empty()) {
        for (const std::string& survivor : result.survivors)
            complain(base::cat(survivor, " did not end after KILL"));
        return exit_leftovers;
    }
    if (result.gave_up) {
        complain(base::cat("\"", label_of(arguments),
                           "\" failed too often and is not started again; its last exit status was ",
                           result.status, ". Look at it with: holdfast events"));
        return result.status ? result.status : exit_too_many;
    }
    if (result.reason == core::StopReason::slot_lost) {
        complain(base::cat("the slot \"", *arguments.value("slot"),
                           "\" was wiped away; the command was ended, since another may own that name now"));
        return exit_lost;
    }
    if (result.reason == core::StopReason::idle)
        complain(base::cat("\"", label_of(arguments), "\" did nothing for ", *arguments.value("idle"),
                           " and was ended"));
    if (result.reason == core::StopReason::max_life)
        complain(base::cat("\"", label_of(arguments), "\" ran for ", *arguments.value("max-life"),
                           ", which is all it was given, and was ended"));
    if (result.reason == core::StopReason::memory)
        complain(base::cat("\"", label_of(arguments), "\" used more than ", *arguments.value("memory"),
                           " and was ended"));
    return result.status;
}

// A slot's lock is the point of it. The entry of a helper without one is information: it starts all the same.
bool may_be_unlisted(const Arguments& arguments, const Error& error) {
    return !arguments.has("slot") && registry::Entry::can_do_without(error);
}

// What double kills have left behind is ended before anything is waited for: it may be what holds the slot.
Result<void> sweep(const Arguments& arguments, const std::string& helpers, const registry::EventLog& events) {
    if (auto ok = prepare_directory(helpers); !ok) {
        if (may_be_unlisted(arguments, ok.error()))
            return {}; // said when the entry cannot be made
        return ok;
    }
    registry::tell_of_swept(events, registry::sweep(helpers));
    return {};
}

void warn_of_unlisted(const Arguments& arguments, const Error& error) {
    complain(base::cat("warning: \"", label_of(arguments), "\" is not listed: ", error.message,
                       ". It is guarded as always, but ps, stop and logs do not know it; should this process "
                       "and its keeper both be killed at once, its processes stay, and no later start ends "
                       "them"));
}

// Whoever finds the slot without its guards learns from its record where to look for the tree.
void tell_entry(Ownership& slot, const SlotLocation& entry, bool at_once) {
    slot.state()->record.entry = records::lock_path(entry);
    if (at_once) // otherwise the word that it is ready follows, and takes it along
        (void)slot.state()->write_record();
}

} // namespace

std::span<const Option> run_options() {
    return options;
}

int run_command(const Arguments& arguments) {
    if (auto ok = check_keys(arguments); !ok)
        return fail_with(ok.error());
    auto options_for_front = front_options(arguments);
    if (!options_for_front)
        return fail_with(options_for_front.error());
    auto places = places_of(arguments);
    if (!places)
        return fail_with(places.error());
    registry::EventLog events(places->events);

    auto slot = enter_slot(arguments, *options_for_front, events,
                           [&] { return sweep(arguments, places->helpers, events); });
    if (!slot)
        return fail_with(slot.error());
    if (slot->attached)
        return *slot->attached;

    base::HelperFacts facts;
    facts.label = label_of(arguments);
    facts.task = arguments.value("task").value_or("");
    facts.stop_plan = core::to_text(options_for_front->keeper.plan);
    facts.spare = options_for_front->keeper.spare;
    facts.slot = arguments.value("slot").value_or("");
    // Before there is one: whoever finds this entry after a double SIGKILL must know where to look.
    const keep::Containment containment = options_for_front->keeper.containment;
    if (containment == keep::Containment::automatic || containment == keep::Containment::cgroup)
        facts.cgroup_place = sys::Cgroup::own_place();
    if (options_for_front->host) {
        facts.host_pid = options_for_front->host->pid();
        facts.host_command = sys::command_line_for_people(facts.host_pid);
        facts.host = sys::identify(*options_for_front->host).value_or(base::Identity{});
    }
    auto entry = registry::Entry::create(places->helpers, arguments.command,
                                         arguments.value("session").value_or(""), facts);
    if (!entry && may_be_unlisted(arguments, entry.error())) {
        warn_of_unlisted(arguments, entry.error());
        entry = registry::Entry::unlisted(places->helpers, arguments.command,
                                          arguments.value("session").value_or(""), facts);
    }
    if (!entry)
        return fail_with(entry.error());
    if (arguments.has("log")) {
        auto path = registry::place_for_log(*places, entry->id());
        if (!path)
            return fail_with(path.error());
        options_for_front->keeper.log = *path;
        (void)entry->update([&](base::HelperFacts& changed) { changed.log = *path; });
    }
    if (slot->ownership)
        tell_entry(*slot->ownership, entry->ownership().location(),
                   options_for_front->readiness == keep::Readiness::notify);
    // A long wait lies behind us, perhaps. Nothing is started for nobody.
    if (slot->host && slot->host->gone())
        return fail_with(host_went(arguments).error());
    keep::FrontResult result = keep::run_front(std::move(*options_for_front), *entry,
                                               slot->ownership ? &*slot->ownership : nullptr, events);
    return report(result, arguments);
}

} // namespace holdfast::cli
