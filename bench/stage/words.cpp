#include "stage/words.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace holdfast::bench {

namespace {

[[noreturn]] void refuse(const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
    std::exit(64);
}

bool contains(const Words& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::string joined(const Words& words) {
    std::string out;
    for (const std::string& word : words)
        out += (out.empty() ? "" : " ") + word;
    return out;
}

} // namespace

bool Given::wants(const std::string& section) const {
    return only.empty() || contains(only, section);
}

Given read_words(int argc, char** argv, const Words& sections, const Words& options) {
    Given out;
    out.run.ours.directory = harness::bin_dir();
    for (int i = 1; i < argc; ++i) {
        std::string word = argv[i];
        if (word == "--quick") {
            out.quick = true;
            continue;
        }
        // "--name VALUE" and "--name=VALUE".
        const std::size_t equals = word.find('=');
        std::string value;
        const std::string name = word.substr(0, equals);
        if (name != "--against" && name != "--only" &&
            (!name.starts_with("--") || !contains(options, name.substr(2))))
            refuse("there is no option \"" + name + "\"");
        if (equals != std::string::npos)
            value = word.substr(equals + 1);
        else if (i + 1 < argc)
            value = argv[++i];
        if (value.empty())
            refuse(name + " needs a value");
        if (name == "--against")
            out.run.other = Programs{value};
        else if (name != "--only")
            out.values[name.substr(2)] = value;
        else if (contains(sections, value))
            out.only.push_back(value);
        else
            refuse("there is no section \"" + value + "\"; use one of: " + joined(sections));
    }
    return out;
}

} // namespace holdfast::bench
