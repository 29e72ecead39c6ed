// The words of a bench program.
#pragma once

#include "stage/pairs.hpp"
#include "stage/stage.hpp"

#include <map>
#include <string>

namespace holdfast::bench {

struct Given {
    Run run;
    bool quick = false;
    std::vector<std::string> only;             // sections; none: all
    std::map<std::string, std::string> values; // of the program's own options, by their names without dashes
    [[nodiscard]] bool wants(const std::string& section) const;
};

// Reads --quick, --against DIRECTORY, --only SECTION (as often as wanted) and the program's own `options`,
// each with a value. Ends the program with a sentence when a word is none of these.
Given read_words(int argc, char** argv, const Words& sections, const Words& options);

} // namespace holdfast::bench
