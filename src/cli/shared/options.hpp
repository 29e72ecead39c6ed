// The command line as a table: one description of each command gives its parsing, its help, its page in the
// manual and its shell completion.
#pragma once

#include "holdfast/result.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

struct Option {
    std::string_view name;  // without the dashes
    std::string_view value; // placeholder such as DUR; empty for a switch
    std::string_view help;
    char letter = 0;               // short form, or 0
    std::string_view choices = {}; // "a|b|c", checked while parsing
    bool repeatable = false;
};

class Arguments {
public:
    [[nodiscard]] bool has(std::string_view name) const { return values_.contains(std::string(name)); }
    [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
    void add(std::string_view name, std::string value) {
        values_[std::string(name)].push_back(std::move(value));
    }

    std::vector<std::string> words;   // positional
    std::vector<std::string> command; // after --
    std::string profile = "default";

private:
    std::map<std::string, std::vector<std::string>> values_;
};

struct Command {
    std::string_view name;    // one word, or two: "memory search"
    std::string_view usage;   // what follows the name
    std::string_view summary; // one line
    std::string_view details; // paragraphs for --help and the manual
    std::span<const Option> options;
    std::size_t min_words = 0;
    std::size_t max_words = 0;
    bool takes_command = false;
    bool takes_file = false; // the words are files, for completion
    bool takes_name = false; // the words are names of helpers or slots, for completion
    int (*run)(const Arguments& arguments) = nullptr;
};

// Options that every command has.
std::span<const Option> common_options();

// Errors name the option and the way out.
Result<Arguments> parse(const Command& command, std::span<const std::string> words);

} // namespace holdfast::cli
