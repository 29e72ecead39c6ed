#include "harness/holdfast_program.hpp"

#include <cstdlib>

extern char** environ;

namespace holdfast::harness {

std::string bin_dir() {
    const char* chosen = std::getenv("HOLDFAST_BIN_DIR");
    return chosen != nullptr && *chosen != '\0' ? chosen : HOLDFAST_BIN_DIR;
}

std::string program(const std::string& name) {
    return bin_dir() + "/" + name;
}

SpawnSpec HoldfastHome::command_of(const std::string& program_name, std::vector<std::string> words) const {
    SpawnSpec spec;
    spec.argv = {program(program_name)};
    if (program_name.starts_with("zoo/"))
        spec.argv.push_back(mark_.argument());
    spec.argv.insert(spec.argv.end(), words.begin(), words.end());
    spec.clear_env = true;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (!text.starts_with("HOLDFAST_") && !text.starts_with("NOTIFY_SOCKET=") &&
            !text.starts_with("XDG_") && !text.starts_with("ZOO_") && !text.starts_with("LISTEN_") &&
            !text.starts_with("WATCHDOG_"))
            spec.env.emplace_back(text);
    }
    spec.env.push_back("HOLDFAST_HOME=" + path());
    spec.env.push_back(mark_.env());
    return spec;
}

SpawnSpec HoldfastHome::command(std::vector<std::string> words) const {
    return command_of("holdfast", std::move(words));
}

std::vector<std::string> HoldfastHome::animal(const std::string& name, std::vector<std::string> words) const {
    std::vector<std::string> argv{program("zoo/" + name), mark_.argument()};
    argv.insert(argv.end(), words.begin(), words.end());
    return argv;
}

Result<Finished> HoldfastHome::run(std::vector<std::string> words, const Deadline& deadline) const {
    return run_to_end(command(std::move(words)), deadline);
}

} // namespace holdfast::harness
