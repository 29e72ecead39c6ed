#include "cli/commands.hpp"

#include "base/text.hpp"
#include "cli/doctor/doctor.hpp"
#include "cli/helpers/helpers.hpp"
#include "cli/hermes/hermes.hpp"
#include "cli/manual.hpp"
#include "cli/memory/memory.hpp"
#include "cli/run/run.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/options.hpp"
#include "cli/shared/print.hpp"
#include "cli/slots/slots.hpp"

#include <algorithm>

namespace holdfast::cli {

namespace {

int completion_command(const Arguments& arguments) {
    if (arguments.words[0] == "names")
        return print_names(std::span(arguments.words).subspan(1));
    if (arguments.words.size() > 1)
        return fail_with({.code = Errc::invalid_argument,
                          .message = base::cat("\"", arguments.words[1], "\" is one word too many")});
    std::string text = completion(arguments.words[0]);
    if (text.empty())
        return fail_with({.code = Errc::invalid_argument,
                          .message = base::cat("there is no completion for \"", arguments.words[0],
                                               "\"; use bash, zsh or fish")});
    return answer_bytes(text);
}

int manual_command(const Arguments&) {
    return answer(manual_page());
}

int version_command(const Arguments&) {
    return answer(base::cat("holdfast ", HOLDFAST_VERSION, '\n'));
}

int help_command(const Arguments& arguments) {
    if (arguments.words.empty()) {
        return answer(overview());
    }
    std::string name = arguments.words[0];
    if (is_group(name) && arguments.words.size() == 1) {
        return answer(group_overview(name));
    }
    if (arguments.words.size() == 2)
        name += base::cat(' ', arguments.words[1]);
    const Command* command = find_command(name);
    if (!command)
        return fail_with({.code = Errc::invalid_argument,
                          .message = base::cat("there is no command \"", name, "\"; see: holdfast --help")});
    return answer(help_of(*command));
}

} // namespace

namespace {

std::vector<Command> all_commands() {
    const Command table[] = {
        {.name = "run",
         .usage = "[OPTIONS] -- CMD [ARG…]",
         .summary = "Run a command that ends with its host, and takes everything it started with it",
         .details = "CMD inherits stdin, stdout and stderr: not one byte passes through Holdfast. When the "
                    "host closes stdin or dies, when this process is ended in any way, even by SIGKILL, the "
                    "whole tree of CMD is ended by the stop plan: grandchildren, daemons, what ignores TERM "
                    "and what is stopped.\n"
                    "With --slot NAME it is the only one of that name on this machine and profile; the "
                    "kernel's lock decides, so no crash leaves anything to clean up. CMD may report its "
                    "start on NOTIFY_SOCKET (READY=1, STATUS=, HOLDFAST_PROGRESS=done/total, "
                    "EXTEND_TIMEOUT_USEC=): a starting owner that makes progress is never replaced. With "
                    "HOLDFAST_ADDRESS=text it says where it can be reached, which --if-held attach prints. "
                    "An owner that is draining is waited for (--wait, 10 s) before anybody is told that the "
                    "slot is held.\n"
                    "A run that waits for its slot gives up (exit 75) when its host dies or closes stdin.\n"
                    "The exit status is CMD's own, 128+n when signal n ended it.",
         .options = run_options(),
         .takes_command = true,
         .run = run_command},
        {.name = "ps",
         .usage = "[--json] [--tree] [--watch] [--session KEY]",
         .summary = "List the helpers that are kept now",
         .details =
             "Each helper is a locked record; the kernel says which are alive, so nothing listed is stale.",
         .options = ps_options(),
         .run = ps_command},
        {.name = "top",
         .usage = "[--session KEY]",
         .summary = "Watch the helpers' memory and processor use",
         .details = "Into a file or a pipe it prints one picture and ends.",
         .options = top_options(),
         .run = top_command},
        {.name = "stop",
         .usage = "ID|NAME… | --session KEY | --all  [--now]",
         .summary = "End helpers or the owner of a slot, with everything they started",
         .details = "All are asked at once, and each is answered when nothing of it is left; what does not "
                    "go is named. A newer owner than the one that was found is left alone, and named. A name "
                    "that means nothing is named, and the others are stopped all the same (exit 3).",
         .options = stop_options(),
         .max_words = 1000,
         .takes_name = true,
         .run = stop_command},
        {.name = "logs",
         .usage = "ID|NAME [-f] [--raw]",
         .summary = "Show the stderr of a helper that was run with --log",
         .details =
             "At most 8 MiB are kept, and the 8 MiB before; of helpers that have ended the newest 100 "
             "logs and 256 MiB, the oldest of which make way when another helper is started with a log.\n"
             "On a terminal colours stay colours, and every other control sequence is shown as text. Files "
             "and pipes get the bytes as they are.",
         .options = logs_options(),
         .min_words = 1,
         .max_words = 1,
         .takes_name = true,
         .run = logs_command},
        {.name = "events",
         .usage = "[-f] [--json]",
         .summary = "Show what happened to helpers and slots",
         .details = "spawned, ready, stopping, exited, killed, respawned, gave-up, adopted, refused, reaped; "
                    "each with its reason. At most 4 MiB are kept, and the 4 MiB before.",
         .options = events_options(),
         .run = events_command},
        {.name = "slots",
         .usage = "[--json] [--watch]",
         .summary = "List the slots and their owners",
         .details = "",
         .options = slots_options(),
         .run = slots_command},
        {.name = "status",
         .usage = "NAME [--json]",
         .summary = "Show one slot",
         .details = "Exits 0 when it is owned, 3 when it is free, 4 when its owner is dead but what it "
                    "started still lives.",
         .options = status_options(),
         .min_words = 1,
         .max_words = 1,
         .takes_name = true,
         .run = status_command},
        {.name = "wait",
         .usage = "NAME --for ready|free [--wait DUR]",
         .summary = "Wait until a slot is ready or free",
         .details = "",
         .options = wait_options(),
         .min_words = 1,
         .max_words = 1,
         .takes_name = true,
         .run = wait_command},
        {.name = "doctor",
         .usage = "[--json] [--under PID]",
         .summary = "Look for helpers that were left behind, on the machine as it is",
         .details = "Nothing needs to have been started by Holdfast. Finds helpers whose stdin has no living "
                    "writer, servers that came to another parent when their host died, generations that a "
                    "living host has dropped, duplicates, and zombies with their parents; each with the "
                    "evidence, its age and its memory.\n"
                    "Proven is only what the kernel itself shows: whoever started it is dead, nobody can "
                    "write to its stdin, nobody reads its stdout, nothing else reaches it, and it was idle "
                    "while we watched. Everything else is suspected, and says what speaks against it.",
         .options = doctor_options(),
         .run = doctor_command},
        {.name = "reap",
         .usage = "[--yes] [--grace DUR] [--json] [--under PID]",
         .summary = "End what doctor has proven to be left behind",
         .details =
             "A dry run, unless --yes is given. Never ends what is only suspected, another user's, a "
             "service, or what belongs to a terminal. Each process is held by a pidfd, the proof is made a "
             "second time, then its whole tree is sent TERM and CONT, and KILL after the grace.\n"
             "Exits 71 when something could not be ended; it is named.",
         .options = reap_options(),
         .run = reap_command},
        {.name = "hermes",
         .usage = "install|status|uninstall [--home DIR] [-p PROFILE] [--json]",
         .summary = "Put the memory provider into a Hermes home, or take it out again",
         .details =
             "install copies the plugin folder, which carries everything it needs, to plugins/holdfast in "
             "the "
             "Hermes home, and sets memory.provider in config.yaml; nothing else in that file changes, and a "
             "copy of it as it was stays beside it. uninstall puts both back; what was remembered stays. "
             "Each "
             "may be done twice.\n"
             "-p names a profile of Hermes, below its home. status exits 0 when Hermes will use it, 3 when "
             "not.",
         .options = hermes_options(),
         .min_words = 1,
         .max_words = 1,
         .run = hermes_command},
        {.name = "completion",
         .usage = "bash|zsh|fish",
         .summary = "Print shell completion",
         .details =
             "For bash: source <(holdfast completion bash)\n"
             "The completions ask for names with: holdfast completion names -- WORDS, which prints those of "
             "helpers and slots that may follow the words typed so far.",
         .options = {},
         .min_words = 1,
         .max_words = 1000,
         .run = completion_command},
        {.name = "manual",
         .usage = "",
         .summary = "Print the manual page (view it with: holdfast manual | man -l -)",
         .details = "",
         .options = {},
         .run = manual_command},
        {.name = "help",
         .usage = "[COMMAND]",
         .summary = "Show help",
         .details = "",
         .options = {},
         .max_words = 2,
         .run = help_command},
        {.name = "version",
         .usage = "",
         .summary = "Print the version",
         .details = "",
         .options = {},
         .run = version_command},
    };
    std::vector<Command> all;
    for (const Command& command : table) {
        if (command.name == "completion")
            all.insert(all.end(), memory_commands().begin(), memory_commands().end());
        all.push_back(command);
    }
    return all;
}

} // namespace

std::span<const Command> commands() {
    static const std::vector<Command> all = all_commands();
    return all;
}

const Command* find_command(std::string_view name) {
    for (const Command& command : commands())
        if (command.name == name)
            return &command;
    return nullptr;
}

bool is_group(std::string_view word) {
    return std::ranges::any_of(commands(), [&](const Command& command) {
        return command.name.size() > word.size() && command.name.starts_with(word) &&
               command.name[word.size()] == ' ';
    });
}

} // namespace holdfast::cli
