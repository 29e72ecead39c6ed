#include "cli/manual.hpp"

#include "cli/print.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace holdfast::cli {

namespace {

constexpr std::string_view purpose = "Holdfast keeps each helper process to exactly one where one is wanted, "
                                     "alive exactly as long as somebody holds it, and "
                                     "gone, with everything it started, the moment nobody does.";

constexpr std::pair<int, std::string_view> exit_codes[] = {
    {0, "done"},
    {3, "status: nobody owns the slot; stop, logs: nothing of that name"},
    {4, "status: the owner is dead, but what it started still lives"},
    {64, "the words on the command line are off; nothing was changed"},
    {69, "a healthy owner exists"},
    {70, "an unexpected error of the system"},
    {71, "processes are left that could not be ended, or were not to be"},
    {72, "too many takeovers or restarts in a short time"},
    {73, "a file or directory cannot be made (disk full, or others could write to it)"},
    {75, "the stated time ran out"},
    {76, "the owner is in another PID namespace and cannot be signalled from here"},
    {77, "not permitted"},
    {78, "the lock file was wiped away; the command was ended"},
    {126, "the command cannot be executed"},
    {127, "the command was not found"},
};

std::string option_left(const Option& option) {
    std::string out = option.letter ? core::cat('-', option.letter, ", ") : std::string("    ");
    out += core::cat("--", option.name);
    if (!option.value.empty())
        out += core::cat(' ', option.value);
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
        if (column && column + 1 + shown_width(word) > width) {
            out += core::cat('\n', std::string(indent, ' '));
            column = 0;
        }
        if (column) {
            out += ' ';
            ++column;
        }
        out += word;
        column += shown_width(word);
    }
    return out;
}

std::string options_text(std::span<const Option> options) {
    std::string out;
    for (const Option& option : options) {
        std::string left = core::cat("  ", option_left(option));
        constexpr std::size_t column = 32;
        if (left.size() + 1 < column)
            left.append(column - left.size(), ' ');
        else
            left += core::cat('\n', std::string(column, ' '));
        out += core::cat(left, wrapped(option.help, column, 56), '\n');
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
            out += core::cat("\\fB\\-", option.letter, "\\fR, ");
        out += core::cat("\\fB\\-\\-", roff(option.name), "\\fR");
        if (!option.value.empty())
            out += core::cat(" \\fI", roff(option.value), "\\fR");
        out += core::cat('\n', roff(option.help), '\n');
    }
    return out;
}

std::string words_of(std::string_view choices) {
    std::string out(choices);
    std::replace(out.begin(), out.end(), '|', ' ');
    return out;
}

std::string bash_completion() {
    std::string out = "# bash completion for holdfast\n_holdfast() {\n"
                      "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} "
                      "command=${COMP_WORDS[1]} i\n"
                      "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                      "        if [[ ${COMP_WORDS[i]} == -- ]]; then _command_offset $((i + 1)) 2>/dev/null "
                      "|| COMPREPLY=($(compgen -c -- \"$current\")); return; fi\n"
                      "    done\n    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W \"";
    for (const Command& command : commands())
        out += core::cat(command.name, ' ');
    out += "\" -- \"$current\"))\n        return\n    fi\n    case $command:$previous in\n";
    for (const Command& command : commands())
        for (const Option& option : command.options)
            if (!option.choices.empty())
                out += core::cat("    ", command.name, ":--", option.name, ") COMPREPLY=($(compgen -W \"",
                                 words_of(option.choices), "\" -- \"$current\")); return ;;\n");
            else if (option.value == "PATH" || option.value == "DIR")
                out += core::cat("    ", command.name, ":--", option.name,
                                 ") COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n");
    out += "    esac\n    case $command in\n";
    for (const Command& command : commands()) {
        out += core::cat("    ", command.name, ") COMPREPLY=($(compgen -W \"");
        for (auto list : {command.options, common_options()})
            for (const Option& option : list)
                out += core::cat("--", option.name, ' ');
        if (command.takes_command)
            out += "-- ";
        if (command.name == "completion")
            out += "bash zsh fish ";
        out += "\" -- \"$current\")) ;;\n";
    }
    return out + "    esac\n}\ncomplete -F _holdfast holdfast\n";
}

std::string quoted(std::string_view text) {
    std::string out;
    for (char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out;
}

std::string zsh_completion() {
    std::string out = "#compdef holdfast\n_holdfast() {\n    local -a commands\n    commands=(\n";
    for (const Command& command : commands())
        out += core::cat("        '", command.name, ':', quoted(command.summary), "'\n");
    out += "    )\n    if ((CURRENT == 2)); then _describe command commands; return; fi\n    local "
           "command=$words[2]\n"
           "    shift words; ((CURRENT--))\n    case $command in\n";
    auto without_brackets = [](std::string_view text) {
        std::string clean(text);
        for (char& c : clean)
            if (c == '[' || c == ']' || c == ':')
                c = ' ';
        return quoted(clean);
    };
    for (const Command& command : commands()) {
        out += core::cat("    ", command.name, ") _arguments");
        for (auto list : {command.options, common_options()})
            for (const Option& option : list) {
                out += core::cat(" \\\n        '", option.repeatable ? "*" : "", "--", option.name, '[',
                                 without_brackets(option.help), ']');
                if (!option.value.empty())
                    out += core::cat(':', option.value, ':',
                                     option.choices.empty()
                                         ? (option.value == "PATH" || option.value == "DIR" ? "_files" : " ")
                                         : core::cat('(', words_of(option.choices), ')'));
                out += '\'';
            }
        if (command.takes_command)
            out += " \\\n        '*::command:_normal'";
        if (command.name == "completion")
            out += " \\\n        '1:shell:(bash zsh fish)'";
        out += " ;;\n";
    }
    return out + "    esac\n}\n_holdfast \"$@\"\n";
}

std::string fish_completion() {
    std::string out = "# fish completion for holdfast\ncomplete -c holdfast -f\n";
    for (const Command& command : commands())
        out += core::cat("complete -c holdfast -n __fish_use_subcommand -a ", command.name, " -d '",
                         quoted(command.summary), "'\n");
    for (const Command& command : commands())
        for (auto list : {command.options, common_options()})
            for (const Option& option : list) {
                out += core::cat("complete -c holdfast -n '__fish_seen_subcommand_from ", command.name,
                                 "' -l ", option.name);
                if (option.letter)
                    out += core::cat(" -s ", option.letter);
                if (!option.value.empty())
                    out += option.value == "PATH" || option.value == "DIR" ? " -r -F" : " -x";
                if (!option.choices.empty())
                    out += core::cat(" -a '", words_of(option.choices), '\'');
                out += core::cat(" -d '", quoted(option.help), "'\n");
            }
    return out + "complete -c holdfast -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n";
}

} // namespace

std::string overview() {
    std::string out = core::cat("holdfast ", HOLDFAST_VERSION, "\n\n", wrapped(purpose, 0, 78),
                                "\n\nusage: holdfast COMMAND [OPTIONS]\n\n");
    for (const Command& command : commands())
        out += core::cat("  ", command.name,
                         std::string(14 - std::min<std::size_t>(13, command.name.size()), ' '),
                         command.summary, '\n');
    out += "\nTry:\n"
           "  holdfast run -- npx some-mcp-server            ended with its host, and with all it started\n"
           "  holdfast run --slot memory -- my-memory-server  the only one of that name\n"
           "  holdfast ps                                     what is kept now\n"
           "\nHelp for one command: holdfast COMMAND --help. The manual: holdfast manual | man -l -\n";
    return out;
}

std::string help_of(const Command& command) {
    std::string out =
        core::cat("usage: holdfast ", command.name, ' ', command.usage, "\n\n", command.summary, ".\n");
    std::string_view rest = command.details;
    while (!rest.empty()) {
        std::size_t end = std::min(rest.find('\n'), rest.size());
        out += core::cat('\n', wrapped(rest.substr(0, end), 0, 78), '\n');
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    out += core::cat("\nOptions:\n", options_text(command.options), options_text(common_options()));
    return out;
}

std::string manual_page() {
    std::string out = core::cat(".TH HOLDFAST 1 \"\" \"holdfast ", HOLDFAST_VERSION,
                                "\" \"User Commands\"\n.SH NAME\nholdfast \\- keep helper processes: one "
                                "where one is wanted, none when nobody holds it\n.SH SYNOPSIS\n");
    for (const Command& command : commands())
        out += core::cat(".B holdfast ", roff(command.name), "\n", roff(command.usage), "\n.br\n");
    out += core::cat(".SH DESCRIPTION\n", roff(purpose), "\n.SH COMMANDS\n");
    for (const Command& command : commands()) {
        out += core::cat(".SS holdfast ", roff(command.name), ' ', roff(command.usage), '\n',
                         roff(command.summary), ".\n");
        std::string_view rest = command.details;
        while (!rest.empty()) {
            std::size_t end = std::min(rest.find('\n'), rest.size());
            out += core::cat(".PP\n", roff(rest.substr(0, end)), '\n');
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        out += roff_options(command.options);
    }
    out += ".SH COMMON OPTIONS\n" + roff_options(common_options());
    out += ".SH EXIT STATUS\n.PP\nA command run by \\fBholdfast run\\fR keeps its own exit status, 128+n for "
           "signal n. Holdfast's own:\n";
    for (auto [code, meaning] : exit_codes)
        out += core::cat(".TP\n.B ", code, '\n', roff(meaning), '\n');
    out += ".SH ENVIRONMENT\n.TP\n.B HOLDFAST_HOME\nmoves all files below this directory (run/, state/, "
           "config/)\n"
           ".TP\n.B HOLDFAST_PROFILE\nthe profile, when \\-\\-profile is not given\n"
           ".TP\n.B XDG_RUNTIME_DIR, XDG_STATE_HOME, XDG_CONFIG_HOME\nwhere locks, the event log and the "
           "configuration live otherwise\n"
           ".TP\n.B NOTIFY_SOCKET\nset for the command, so that it can report its start; heard from a "
           "service manager, so that it is told in turn\n"
           ".TP\n.B HOLDFAST_ID, HOLDFAST_MARK\nset for the command: its id in the registry\n";
    return out;
}

std::string completion(std::string_view shell) {
    if (shell == "bash")
        return bash_completion();
    if (shell == "zsh")
        return zsh_completion();
    if (shell == "fish")
        return fish_completion();
    return {};
}

} // namespace holdfast::cli
