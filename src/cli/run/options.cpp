// The options of `holdfast run`, as its help shows them.
#include "cli/run/run.hpp"

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
     .help =
         "write a PID file for tools that expect one; removed at the end if still ours. A file that names a "
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

} // namespace

std::span<const Option> run_options() {
    return options;
}

} // namespace holdfast::cli
