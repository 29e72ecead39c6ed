// Shell completion from the table of commands. Commands of two words are a group: the first word is offered
// first, then the words of that group.
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/manual.hpp"

#include <algorithm>

namespace holdfast::cli {

using base::cat;

namespace {

std::string words_of(std::string_view choices) {
    std::string out(choices);
    std::replace(out.begin(), out.end(), '|', ' ');
    return out;
}

std::string_view first_word(const Command& command) {
    return command.name.substr(0, command.name.find(' '));
}

std::string_view second_word(const Command& command) {
    const auto space = command.name.find(' ');
    return space == command.name.npos ? std::string_view() : command.name.substr(space + 1);
}

std::vector<std::string_view> groups() {
    std::vector<std::string_view> out;
    for (const Command& command : commands())
        if (!second_word(command).empty() && (out.empty() || out.back() != first_word(command)))
            out.push_back(first_word(command));
    return out;
}

// What may stand first: each single word, and each group once.
std::string first_words() {
    std::string out;
    std::string_view last;
    for (const Command& command : commands()) {
        if (first_word(command) != last)
            out += cat(first_word(command), ' ');
        last = first_word(command);
    }
    return out;
}

std::string second_words(std::string_view group) {
    std::string out;
    for (const Command& command : commands())
        if (first_word(command) == group)
            out += cat(second_word(command), ' ');
    return out;
}

bool is_path(const Option& option) {
    return option.value == "PATH" || option.value == "DIR";
}

bool is_slot(const Option& option) {
    return option.name == "slot";
}

std::string bash_completion() {
    std::string out =
        "# bash completion for holdfast\n"
        "_holdfast_names() {\n    local name\n    while IFS= read -r name; do\n"
        "        [[ $name == \"$current\"* ]] && COMPREPLY+=(\"$(printf %q \"$name\")\")\n"
        "    done < <(holdfast completion names -- \"${COMP_WORDS[@]:1:COMP_CWORD-1}\" 2>/dev/null)\n}\n";
    out += "_holdfast() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} "
           "command=${COMP_WORDS[1]} i\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        if [[ ${COMP_WORDS[i]} == -- ]]; then _command_offset $((i + 1)) 2>/dev/null "
           "|| COMPREPLY=($(compgen -c -- \"$current\")); return; fi\n"
           "    done\n    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W \"";
    out += cat(first_words(), "\" -- \"$current\"))\n        return\n    fi\n    case $command in\n");
    for (const auto group : groups())
        out += cat("    ", group, ")\n        if ((COMP_CWORD == 2)); then COMPREPLY=($(compgen -W \"",
                   second_words(group), "\" -- \"$current\")); return; fi\n        command=\"", group,
                   " ${COMP_WORDS[2]}\" ;;\n");
    out += "    esac\n    case $command:$previous in\n";
    for (const Command& command : commands())
        for (const Option& option : command.options)
            if (!option.choices.empty())
                out += cat("    \"", command.name, "\":--", option.name, ") COMPREPLY=($(compgen -W \"",
                           words_of(option.choices), "\" -- \"$current\")); return ;;\n");
            else if (is_path(option))
                out += cat("    \"", command.name, "\":--", option.name,
                           ") COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n");
            else if (is_slot(option))
                out += cat("    \"", command.name, "\":--", option.name, ") _holdfast_names; return ;;\n");
    out += "    esac\n    case $command in\n";
    for (const Command& command : commands()) {
        out += cat("    \"", command.name, "\") COMPREPLY=($(compgen -W \"");
        for (auto list : {command.options, common_options()})
            for (const Option& option : list)
                out += cat("--", option.name, ' ');
        if (command.takes_command)
            out += "-- ";
        if (command.name == "completion")
            out += "bash zsh fish ";
        out += "\" -- \"$current\")";
        out += command.takes_file   ? " $(compgen -f -- \"$current\")) ;;\n"
               : command.takes_name ? "); _holdfast_names ;;\n"
                                    : ") ;;\n";
    }
    return out + "    esac\n}\ncomplete -F _holdfast holdfast\n";
}

std::string quoted(std::string_view text) {
    std::string out;
    for (char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out;
}

std::string without_brackets(std::string_view text) {
    std::string clean(text);
    for (char& c : clean)
        if (c == '[' || c == ']' || c == ':')
            c = ' ';
    return quoted(clean);
}

std::string zsh_completion() {
    std::string out =
        "#compdef holdfast\n_holdfast_names() {\n    compadd -- ${(f)\"$(holdfast completion names -- "
        "\"${(@)words[1,CURRENT-1]}\" 2>/dev/null)\"}\n}\n_holdfast() {\n    local -a commands\n    "
        "commands=(\n";
    for (const Command& command : commands())
        if (second_word(command).empty())
            out += cat("        '", command.name, ':', quoted(command.summary), "'\n");
    for (const auto group : groups())
        out += cat("        '", group, ":commands of ", group, "'\n");
    out += "    )\n    if ((CURRENT == 2)); then _describe command commands; return; fi\n    local "
           "command=$words[2]\n    shift words; ((CURRENT--))\n    case $command in\n";
    for (const auto group : groups()) {
        out += cat("    ", group, ")\n        commands=(\n");
        for (const Command& command : commands())
            if (first_word(command) == group)
                out += cat("            '", second_word(command), ':', quoted(command.summary), "'\n");
        out += cat("        )\n        if ((CURRENT == 2)); then _describe command commands; return; fi\n    "
                   "    command=\"",
                   group, " $words[2]\"\n        shift words; ((CURRENT--)) ;;\n");
    }
    out += "    esac\n    case $command in\n";
    for (const Command& command : commands()) {
        out += cat("    \"", command.name, "\") _arguments");
        for (auto list : {command.options, common_options()})
            for (const Option& option : list) {
                out += cat(" \\\n        '", option.repeatable ? "*" : "", "--", option.name, '[',
                           without_brackets(option.help), ']');
                if (!option.value.empty())
                    out += cat(':', option.value, ':',
                               option.choices.empty() ? (is_path(option)   ? "_files"
                                                         : is_slot(option) ? "_holdfast_names"
                                                                           : " ")
                                                      : cat('(', words_of(option.choices), ')'));
                out += '\'';
            }
        if (command.takes_command)
            out += " \\\n        '*::command:_normal'";
        if (command.takes_file)
            out += " \\\n        '1:file:_files'";
        if (command.takes_name)
            out += " \\\n        '*:name:_holdfast_names'";
        if (command.name == "completion")
            out += " \\\n        '1:shell:(bash zsh fish)'";
        out += " ;;\n";
    }
    return out + "    esac\n}\n_holdfast \"$@\"\n";
}

std::string fish_condition(const Command& command) {
    if (!second_word(command).empty())
        return cat("__fish_seen_subcommand_from ", first_word(command), "; and __fish_seen_subcommand_from ",
                   second_word(command));
    std::string out = cat("__fish_seen_subcommand_from ", command.name);
    for (const auto group : groups())
        out += cat("; and not __fish_seen_subcommand_from ", group);
    return out;
}

std::string fish_completion() {
    std::string out =
        "# fish completion for holdfast\nfunction __holdfast_names\n    holdfast completion names -- "
        "(commandline -opc)[2..-1] 2>/dev/null\nend\ncomplete -c holdfast -f\n";
    for (const Command& command : commands())
        if (second_word(command).empty())
            out += cat("complete -c holdfast -n __fish_use_subcommand -a ", command.name, " -d '",
                       quoted(command.summary), "'\n");
        else
            out += cat("complete -c holdfast -n '__fish_seen_subcommand_from ", first_word(command),
                       "; and not __fish_seen_subcommand_from ", second_words(first_word(command)), "' -a ",
                       second_word(command), " -d '", quoted(command.summary), "'\n");
    for (const auto group : groups())
        out += cat("complete -c holdfast -n __fish_use_subcommand -a ", group, " -d 'commands of ", group,
                   "'\n");
    for (const Command& command : commands())
        for (auto list : {command.options, common_options()})
            for (const Option& option : list) {
                out += cat("complete -c holdfast -n '", fish_condition(command), "' -l ", option.name);
                if (option.letter)
                    out += cat(" -s ", option.letter);
                if (!option.value.empty())
                    out += is_path(option) ? " -r -F" : " -x";
                if (!option.choices.empty())
                    out += cat(" -a '", words_of(option.choices), '\'');
                if (is_slot(option))
                    out += " -a '(__holdfast_names)'";
                out += cat(" -d '", quoted(option.help), "'\n");
            }
    for (const Command& command : commands())
        if (command.takes_file)
            out += cat("complete -c holdfast -n '", fish_condition(command), "' -F\n");
        else if (command.takes_name)
            out += cat("complete -c holdfast -n '", fish_condition(command), "' -a '(__holdfast_names)'\n");
    return out + "complete -c holdfast -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n";
}

} // namespace

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
