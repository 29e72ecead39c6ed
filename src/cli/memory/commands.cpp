// The table of the memory commands.
#include "cli/memory/memory.hpp"

namespace holdfast::cli {

namespace {

constexpr Option home_option{
    .name = "home",
    .value = "DIR",
    .help = "the data home (default: $HOLDFAST_HOME/memory, or the profile's state directory)"};
constexpr Option json_option{.name = "json", .value = "", .help = "as JSON"};
constexpr Option timeout_option{
    .name = "timeout",
    .value = "DUR",
    .help = "give up (exit 75) when the memory's owner says nothing, or gets no further, for this long "
            "(default: 1m and 10m)"};
constexpr Option agent_option{
    .name = "agent", .value = "NAME", .help = "the agent that is served (default: default)"};
constexpr Option port_option{.name = "port",
                             .value = "N",
                             .help =
                                 "the viewer's port (default: 8377); when it is taken, the next free one"};
constexpr Option no_viewer_option{.name = "no-viewer", .value = "", .help = "serve no pages"};

constexpr Option line_option{.name = "max-line",
                             .value = "SIZE",
                             .help = "the longest line that is taken, 4K to 31M (default: 16M, or "
                                     "HOLDFAST_MEMORY_MAX_LINE)"};

constexpr Option for_serve[] = {home_option, agent_option, port_option, no_viewer_option, line_option};
constexpr Option for_daemon[] = {
    home_option,
    agent_option,
    port_option,
    no_viewer_option,
    line_option,
    {.name = "idle",
     .value = "DUR",
     .help = "leave when nobody was there for this long, such as 15m (default: stay)"}};
constexpr Option for_mcp[] = {home_option, agent_option, port_option, no_viewer_option, line_option};
constexpr Option for_search[] = {
    home_option,
    timeout_option,
    {.name = "limit", .value = "N", .help = "at most N hits, 1 to 200 (default: 10)", .letter = 'n'},
    {.name = "session", .value = "ID", .help = "only in this session"},
    json_option,
};
constexpr Option for_add[] = {
    home_option,
    timeout_option,
    {.name = "tag",
     .value = "WORD",
     .help = "a tag; may be given several times",
     .letter = 't',
     .repeatable = true},
    {.name = "session", .value = "ID", .help = "the session it belongs to (default: se_notes)"},
    {.name = "agent", .value = "NAME", .help = "who says it (default: person)"},
    json_option,
};
constexpr Option before_option{
    .name = "before", .value = "PLACE", .help = "go on where an earlier page said to"};
constexpr Option page_option{
    .name = "limit", .value = "N", .help = "at most N of them, 1 to 500 (default: 20)", .letter = 'n'};
constexpr Option for_show[] = {home_option, timeout_option, json_option};
constexpr Option for_forget[] = {home_option, timeout_option};
constexpr Option for_sessions[] = {home_option, timeout_option, page_option, before_option, json_option};
constexpr Option for_episodes[] = {
    home_option,
    timeout_option,
    page_option,
    before_option,
    {.name = "session", .value = "ID", .help = "only those of this session"},
    json_option,
};
constexpr Option for_open[] = {
    home_option,
    timeout_option,
    {.name = "print", .value = "", .help = "only print the link, and open no browser"},
    {.name = "valid", .value = "DUR", .help = "how long the link may wait, 1ms to 24h (default: 10m)"},
    json_option,
};
constexpr Option for_status[] = {home_option, json_option};
constexpr Option for_check[] = {
    home_option,
    timeout_option,
    {.name = "rebuild-index", .value = "", .help = "also build its indexes again from the text"},
    json_option,
};
constexpr Option for_export[] = {
    home_option,
    timeout_option,
    {.name = "from",
     .value = "DATABASE",
     .help = "what can be read of this file, such as one that was set aside, in place of the home's memory"},
    {.name = "quiet", .value = "", .help = "no progress, no summary", .letter = 'q'},
};
constexpr Option for_import[] = {
    home_option,
    timeout_option,
    {.name = "skip-bad", .value = "", .help = "leave bad lines out instead of stopping at the first"},
    {.name = "rejects",
     .value = "PATH",
     .help = "write the lines that were left out to this file (with --skip-bad)"},
    {.name = "quiet", .value = "", .help = "no progress, no summary", .letter = 'q'},
    json_option,
};

constexpr Command table[] = {
    {.name = "memory serve",
     .usage = "[--home DIR] [--agent NAME] [--port N | --no-viewer] [--max-line SIZE]",
     .summary = "Serve the memory contract on stdio, with the viewer",
     .details = "One JSON-RPC message a line, in and out. The first process on a home owns its store; every "
                "further one is "
                "served by that owner. Ends when stdin closes and everything written has been committed.",
     .options = for_serve,
     .run = memory_serve_command},
    {.name = "memory daemon",
     .usage = "[--home DIR] [--agent NAME] [--port N | --no-viewer] [--max-line SIZE] [--idle DUR]",
     .summary = "Keep the memory and its viewer open without a client",
     .details = "Stays until it is asked to end (TERM, INT, or core.shutdown). Keep it with: holdfast run "
                "--slot memory -- "
                "holdfast memory daemon",
     .options = for_daemon,
     .run = memory_daemon_command},
    {.name = "memory mcp",
     .usage = "[--home DIR] [--agent NAME] [--port N | --no-viewer] [--max-line SIZE]",
     .summary = "Serve the memory as an MCP server on stdio",
     .details = "Tools: search, remember, recall_timeline, forget, feedback. Any number of hosts may start "
                "it on one home: "
                "they share the one that owns the store.\n"
                "In a host's configuration: { \"command\": \"holdfast\", \"args\": [\"memory\", \"mcp\"] }",
     .options = for_mcp,
     .run = memory_mcp_command},
    {.name = "memory search",
     .usage = "WORD… [-n N] [--session ID] [--json]",
     .summary = "Find what was said and done",
     .details = "Ranked, best first; dates such as \"last Tuesday\" are understood. Exits 3 when there is no "
                "memory at that place.",
     .options = for_search,
     .min_words = 1,
     .max_words = 1000,
     .run = memory_search_command},
    {.name = "memory add",
     .usage = "[TEXT… | < FILE] [--tag WORD]… [--session ID] [--json]",
     .summary = "Store a note",
     .details = "The text comes from the words, or from stdin when there are none. What looks like a key or "
                "a password is "
                "replaced before it is stored.",
     .options = for_add,
     .max_words = 10000,
     .run = memory_add_command},
    {.name = "memory show",
     .usage = "ID [--json]",
     .summary = "Show one turn, conversation, skill, policy or world model in full",
     .details = "ID is as search and episodes show it. A conversation (episode) comes with all its turns in "
                "order; with --json as one line each. Exits 3 when there is nothing with that id.",
     .options = for_show,
     .min_words = 1,
     .max_words = 1,
     .run = memory_show_command},
    {.name = "memory episodes",
     .usage = "[--session ID] [-n N] [--before PLACE] [--json]",
     .summary = "List conversations, the newest first",
     .details = "A page at a time; where the next one begins is said on stderr.",
     .options = for_episodes,
     .run = memory_episodes_command},
    {.name = "memory sessions",
     .usage = "[-n N] [--before PLACE] [--json]",
     .summary = "List sessions, the newest first",
     .details = "A page at a time; where the next one begins is said on stderr.",
     .options = for_sessions,
     .run = memory_sessions_command},
    {.name = "memory forget",
     .usage = "ID…",
     .summary = "Delete turns or notes for good",
     .details =
         "ID is that of a trace (tr_…), as search shows it. It is gone from every search at once, and is "
         "wiped from the files. Exits 3 when one of them is not there; the others are forgotten all the "
         "same.",
     .options = for_forget,
     .min_words = 1,
     .max_words = 1000,
     .run = memory_forget_command},
    {.name = "memory export",
     .usage = "[FILE] [--from DATABASE] [--quiet]",
     .summary = "Write everything as JSON lines, to FILE or stdout",
     .details = "The memory stays in use meanwhile. FILE appears when it is complete; it is not overwritten "
                "when it exists already. Exits 3, and writes nothing, when there is no memory at that place; "
                "65 when a damaged one could not be exported whole, or an earlier one was corrupt and still "
                "lies beside it.",
     .options = for_export,
     .max_words = 1,
     .takes_file = true,
     .run = memory_export_command},
    {.name = "memory import",
     .usage = "FILE|- [--skip-bad [--rejects PATH]] [--quiet] [--json]",
     .summary = "Bring in JSON lines, or the database of another memory bridge",
     .details = "FILE is an export, JSON lines of your own ({\"ts\":…, \"userText\":…, \"agentText\":…} is "
                "enough), or a bridge's "
                "SQLite database with the tables sessions, episodes and traces, which is only read. What is "
                "there already, by "
                "its id, is left as it is: importing twice stores once.\n"
                "At a bad line the import stops, names it, and exits 65; what stood before it is stored. "
                "With --skip-bad such "
                "lines are counted and left out.",
     .options = for_import,
     .min_words = 1,
     .max_words = 1,
     .takes_file = true,
     .run = memory_import_command},
    {.name = "memory check",
     .usage = "[--rebuild-index] [--json]",
     .summary = "Verify the store, and repair its index",
     .details = "Exits 65 when the database is damaged, or was so corrupt that it was set aside, and says "
                "what to do; 3 when there is no memory at that place.",
     .options = for_check,
     .run = memory_check_command},
    {.name = "memory open",
     .usage = "[--print] [--valid DUR] [--json]",
     .summary = "Open the viewer in a browser",
     .details =
         "Prints a link that opens one page, once, and opens it with xdg-open where DISPLAY or "
         "WAYLAND_DISPLAY is set. The page stays open as long as the process that serves the memory lives; "
         "after that it sends nothing more, and a new link is needed. The link is a secret: whoever has it "
         "first gets in. Exits 3 when no process serves the memory or its pages.",
     .options = for_open,
     .run = memory_open_command},
    {.name = "memory status",
     .usage = "[--json]",
     .summary = "Show the home, its owner, its viewer and its size",
     .details =
         "A reader: takes no lock, wakes nobody and changes nothing. Exits 0 when a process serves the "
         "home (also one that is stopped, which is said), 3 when none does.",
     .options = for_status,
     .run = memory_status_command},
};

} // namespace

std::span<const Command> memory_commands() {
    return table;
}

} // namespace holdfast::cli
