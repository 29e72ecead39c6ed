// Passwords on command lines: the options of known programs that take one.
#pragma once

#include <cstddef>
#include <string_view>

namespace holdfast::memory {

struct CommandSecret {
    std::size_t keep = 0;   // bytes of the option before it
    std::size_t length = 0; // 0: none
};

// Walks along a text with its reader. A command is known by its name, until its line ends; so a text is read
// once, however many commands it names.
class CommandLine {
public:
    // At every character, in order.
    void pass(std::string_view text, std::size_t at);

    // At the beginning of every word: the password that begins with this option.
    CommandSecret word(std::string_view text, std::size_t at);

private:
    void note_name(std::string_view rest);
    static bool opens(std::string_view text, std::size_t at);

    std::string_view name_;      // of the command whose line this is; empty: none
    bool logs_in_ = false;       // its subcommand is login
    bool other_ = false;         // its subcommand is one whose -p is something else
    bool value_follows_ = false; // the next word belongs to the option before it
    char quote_ = 0;             // what stands here is in such quotes; 0: in none
    std::size_t quoted_from_ = 0;
};

} // namespace holdfast::memory
