#include "cli/shared/options.hpp"

#include "base/text.hpp"

namespace holdfast::cli {

namespace {

constexpr Option common[] = {
    {.name = "profile",
     .value = "NAME",
     .help = "keep apart from other profiles (default: default, or HOLDFAST_PROFILE)",
     .letter = 'p'},
    {.name = "help", .value = "", .help = "show this help", .letter = 'h'},
};

const Option* find(const Command& command, std::string_view name, char letter) {
    for (auto list : {command.options, common_options()})
        for (const Option& option : list)
            if ((letter && option.letter == letter) || (!letter && option.name == name))
                return &option;
    return nullptr;
}

std::unexpected<Error> wrong(const Command& command, std::string why) {
    return fail(Errc::invalid_argument, base::cat(why, "; see: holdfast ", command.name, " --help"));
}

bool is_choice(std::string_view choices, std::string_view value) {
    while (!choices.empty()) {
        std::size_t end = choices.find('|');
        if (choices.substr(0, end) == value)
            return true;
        choices.remove_prefix(end == std::string_view::npos ? choices.size() : end + 1);
    }
    return false;
}

} // namespace

std::span<const Option> common_options() {
    return common;
}

std::optional<std::string> Arguments::value(std::string_view name) const {
    auto found = values_.find(std::string(name));
    if (found == values_.end())
        return std::nullopt;
    return found->second.back();
}

std::vector<std::string> Arguments::all(std::string_view name) const {
    auto found = values_.find(std::string(name));
    return found == values_.end() ? std::vector<std::string>{} : found->second;
}

Result<Arguments> parse(const Command& command, std::span<const std::string> words) {
    Arguments out;
    std::size_t at = 0;
    for (; at < words.size(); ++at) {
        const std::string& word = words[at];
        if (word == "--") {
            if (!command.takes_command && command.max_words > 0) {
                // Everywhere else, and so here, this says that no option follows: a word may begin with a
                // dash.
                out.words.insert(out.words.end(), words.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                 words.end());
                break;
            }
            if (!command.takes_command)
                return wrong(command, base::cat("holdfast ", command.name,
                                                " runs no command, so nothing may follow --"));
            out.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
            break;
        }
        if (word.size() < 2 || word[0] != '-') {
            if (command.takes_command)
                return wrong(command, base::cat("put -- in front of the command: holdfast ", command.name,
                                                " -- ", word, " …"));
            out.words.push_back(word);
            continue;
        }
        bool is_long = word.starts_with("--");
        std::size_t equals = is_long ? word.find('=') : std::string::npos;
        std::string_view name =
            is_long ? std::string_view(word).substr(2, equals == std::string::npos ? equals : equals - 2)
                    : std::string_view(word).substr(1, 1);
        const Option* option = find(command, name, is_long ? char{0} : name.front());
        if (!option)
            return wrong(command, base::cat("holdfast ", command.name, " has no option ", word));
        if (out.has(option->name) && !option->repeatable)
            return wrong(command, base::cat("--", option->name, " is given twice"));
        std::string value;
        if (option->value.empty()) {
            if (equals != std::string::npos || (!is_long && word.size() > 2))
                return wrong(command, base::cat("--", option->name, " takes no value"));
        } else if (equals != std::string::npos) {
            value = word.substr(equals + 1);
        } else if (!is_long && word.size() > 2) {
            value = word.substr(2);
        } else {
            if (at + 1 >= words.size())
                return wrong(command, base::cat("--", option->name, " needs ", option->value));
            value = words[++at];
        }
        if (!option->choices.empty() && !is_choice(option->choices, value))
            return wrong(command, base::cat("--", option->name, " is one of ", option->choices, ", not \"",
                                            value, "\""));
        out.add(option->name, std::move(value));
    }
    if (out.has("help"))
        return out;
    if (command.takes_command && out.command.empty())
        return wrong(command, base::cat("there is no command to run; write it after --, as in: holdfast ",
                                        command.name, " -- CMD"));
    if (out.words.size() < command.min_words)
        return wrong(command,
                     base::cat("something is missing; usage: holdfast ", command.name, ' ', command.usage));
    if (out.words.size() > command.max_words)
        return wrong(command, base::cat("\"", out.words[command.max_words], "\" is one word too many"));
    if (auto profile = out.value("profile"))
        out.profile = *profile;
    return out;
}

} // namespace holdfast::cli
