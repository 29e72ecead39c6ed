#include "cli/manual.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/shared/print.hpp"

#include <algorithm>

namespace holdfast::cli {

namespace {

constexpr std::string_view purpose = "Holdfast keeps each helper process to exactly one where one is wanted, "
                                     "alive exactly as long as somebody holds it, and "
                                     "gone, with everything it started, the moment nobody does.";

constexpr std::pair<int, std::string_view> exit_codes[] = {
    {0, "done"},
    {3,
     "status: nobody owns the slot; stop, logs: nothing of that name; memory: there is none at that place"},
    {4, "status: the owner is dead, but what it started still lives"},
    {64, "the words on the command line are off; nothing was changed"},
    {65, "memory import: a line that cannot be read; memory check: the store is damaged, or was set aside"},
    {69, "a healthy owner exists"},
    {70, "an unexpected error of the system"},
    {71, "processes are left that could not be ended, or were not to be"},
    {72, "too many takeovers or restarts in a short time"},
    {73, "a file or directory cannot be made (disk full, no such place, others could write to it, or it is "
         "somebody else's)"},
    {75, "the stated time ran out, or the host went first: nothing was started"},
    {76, "the owner is in another PID namespace and cannot be signalled from here"},
    {77, "not permitted"},
    {78, "the lock file was wiped away; the command was ended"},
    {126, "the command cannot be executed"},
    {127, "the command was not found"},
};

std::string option_left(const Option& option) {
    std::string out = option.letter ? base::cat('-', option.letter, ", ") : std::string("    ");
    out += base::cat("--", option.name);
    if (!option.value.empty())
        out += base::cat(' ', option.value);
    return out;
}

// Text in lines of at most `width`, each after the first indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
    std::string out;
    std::size_t column = 0;
    while (!text.empty()) {
        std::size_t end = std::min(text.find(' '), text.size());
        std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (column && column + 1 + base::shown_width(word) > width) {
            out += base::cat('\n', std::string(indent, ' '));
            column = 0;
        }
        if (column) {
            out += ' ';
            ++column;
        }
        out += word;
        column += base::shown_width(word);
    }
    return out;
}

std::string options_text(std::span<const Option> options) {
    std::string out;
    for (const Option& option : options) {
        std::string left = base::cat("  ", option_left(option));
        constexpr std::size_t column = 32;
        if (left.size() + 1 < column)
            left.append(column - left.size(), ' ');
        else
            left += base::cat('\n', std::string(column, ' '));
        out += base::cat(left, wrapped(option.help, column, 56), '\n');
    }
    return out;
}

std::string roff(std::string_view text) {
    std::string out;
    constexpr std::string_view ellipsis = "…";
    while (!text.empty()) {
        if (text.starts_with(ellipsis)) {
            out += "...";
            text.remove_prefix(ellipsis.size());
            continue;
        }
        char c = text.front();
        text.remove_prefix(1);
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    if (out.starts_with('.') || out.starts_with('\''))
        out.insert(0, "\\&");
    return out;
}

std::string roff_options(std::span<const Option> options) {
    std::string out;
    for (const Option& option : options) {
        out += ".TP\n";
        if (option.letter)
            out += base::cat("\\fB\\-", option.letter, "\\fR, ");
        out += base::cat("\\fB\\-\\-", roff(option.name), "\\fR");
        if (!option.value.empty())
            out += base::cat(" \\fI", roff(option.value), "\\fR");
        out += base::cat('\n', roff(option.help), '\n');
    }
    return out;
}

std::string listed(std::string_view name, std::string_view summary) {
    return base::cat("  ", name, std::string(14 - std::min<std::size_t>(13, base::shown_width(name)), ' '),
                     summary, '\n');
}

} // namespace

std::string overview() {
    std::string out = base::cat("holdfast ", HOLDFAST_VERSION, "\n\n", wrapped(purpose, 0, 78),
                                "\n\nusage: holdfast COMMAND [OPTIONS]\n\n");
    std::string_view group;
    for (const Command& command : commands()) {
        const auto first = command.name.substr(0, command.name.find(' '));
        if (first != command.name) { // a group has one line here, and an overview of its own
            if (first != group)
                out += listed(
                    base::cat(first, " …"),
                    "Agent memory: serve it, search it, bring it in and out; see: holdfast memory --help");
            group = first;
            continue;
        }
        out += listed(command.name, command.summary);
    }
    out += "\nTry:\n"
           "  holdfast run -- npx some-mcp-server            ended with its host, and with all it started\n"
           "  holdfast run --slot memory -- my-memory-server  the only one of that name\n"
           "  holdfast ps                                     what is kept now\n"
           "\nHelp for one command: holdfast COMMAND --help. The manual: holdfast manual | man -l -\n";
    return out;
}

std::string group_overview(std::string_view group) {
    std::string out = base::cat("usage: holdfast ", group, " COMMAND [OPTIONS]\n\n");
    for (const Command& command : commands())
        if (command.name.starts_with(base::cat(group, ' ')))
            out += listed(command.name.substr(group.size() + 1), command.summary);
    return out + base::cat("\nHelp for one command: holdfast ", group, " COMMAND --help\n");
}

std::string help_of(const Command& command) {
    std::string out =
        base::cat("usage: holdfast ", command.name, ' ', command.usage, "\n\n", command.summary, ".\n");
    std::string_view rest = command.details;
    while (!rest.empty()) {
        std::size_t end = std::min(rest.find('\n'), rest.size());
        out += base::cat('\n', wrapped(rest.substr(0, end), 0, 78), '\n');
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    out += base::cat("\nOptions:\n", options_text(command.options), options_text(common_options()));
    return out;
}

std::string manual_page() {
    std::string out = base::cat(".TH HOLDFAST 1 \"\" \"holdfast ", HOLDFAST_VERSION,
                                "\" \"User Commands\"\n.SH NAME\nholdfast \\- keep helper processes: one "
                                "where one is wanted, none when nobody holds it\n.SH SYNOPSIS\n");
    for (const Command& command : commands())
        out += base::cat(".B holdfast ", roff(command.name), "\n", roff(command.usage), "\n.br\n");
    out += base::cat(".SH DESCRIPTION\n", roff(purpose), "\n.SH COMMANDS\n");
    for (const Command& command : commands()) {
        out += base::cat(".SS holdfast ", roff(command.name), ' ', roff(command.usage), '\n',
                         roff(command.summary), ".\n");
        std::string_view rest = command.details;
        while (!rest.empty()) {
            std::size_t end = std::min(rest.find('\n'), rest.size());
            out += base::cat(".PP\n", roff(rest.substr(0, end)), '\n');
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        out += roff_options(command.options);
    }
    out += ".SH COMMON OPTIONS\n" + roff_options(common_options());
    out += ".SH EXIT STATUS\n.PP\nA command run by \\fBholdfast run\\fR keeps its own exit status, 128+n for "
           "signal n. Holdfast's own:\n";
    for (auto [code, meaning] : exit_codes)
        out += base::cat(".TP\n.B ", code, '\n', roff(meaning), '\n');
    out += ".SH ENVIRONMENT\n.TP\n.B HOLDFAST_HOME\nmoves all files below this directory (run/, state/, "
           "config/)\n"
           ".TP\n.B HOLDFAST_PROFILE\nthe profile, when \\-\\-profile is not given\n"
           ".TP\n.B XDG_RUNTIME_DIR, XDG_STATE_HOME, XDG_CONFIG_HOME\nwhere locks, the event log and the "
           "configuration live otherwise\n"
           ".TP\n.B HOME\nwhere the last two are when they are not set; without it the user's entry in "
           "/etc/passwd\n"
           ".TP\n.B HOLDFAST_MEMORY\nthe program holdfast\\-memory, when it lies neither beside holdfast nor "
           "in PATH\n"
           ".TP\n.B HOLDFAST_MEMORY_MAX_LINE\nthe longest line that a memory helper takes, 4K to 31M "
           "(default: 16M)\n"
           ".TP\n.B NOTIFY_SOCKET\nset for the command, so that it can report its start and its "
           "address (READY=1, STATUS=, HOLDFAST_PROGRESS=, HOLDFAST_ADDRESS=, EXTEND_TIMEOUT_USEC=, "
           "STOPPING=1); heard from a service manager, so that it is told in turn\n"
           ".TP\n.B HOLDFAST_ID, HOLDFAST_MARK\nset for the command: its id in the registry\n";
    return out;
}

} // namespace holdfast::cli
