// The built programs under a private home, so that tests never see each other's slots or the user's.
#pragma once

#include "harness/child.hpp"
#include "harness/marked.hpp"
#include "harness/temp_dir.hpp"

#include <string>
#include <vector>

namespace holdfast::harness {

// build/bin, or $HOLDFAST_BIN_DIR when set (to try other builds with the same tests).
std::string bin_dir();
// The path of a built program: program("holdfast"), program("zoo/term_ignorer").
std::string program(const std::string& name);

// A private HOLDFAST_HOME and a token for everything that is started under it. At its end whatever still
// carries the token is killed, then the directory is removed.
class HoldfastHome {
public:
    [[nodiscard]] std::string path() const { return dir_.path().string(); }
    [[nodiscard]] const TempDir& dir() const noexcept { return dir_; }
    [[nodiscard]] const MarkGuard& mark() const noexcept { return mark_; }

    // `holdfast words...` with HOLDFAST_HOME and ZOO_TOKEN set, and without a service manager's or an outer
    // Holdfast's variables: a test must not depend on who started it.
    [[nodiscard]] SpawnSpec command(std::vector<std::string> words) const;
    // The same environment for another program of bin_dir(); "zoo/..." gets --token= as its first argument.
    [[nodiscard]] SpawnSpec command_of(const std::string& program_name, std::vector<std::string> words) const;
    // An animal's argument list, for the words after `--`.
    [[nodiscard]] std::vector<std::string> animal(const std::string& name,
                                                  std::vector<std::string> words = {}) const;
    // Runs `holdfast words...` to its end.
    [[nodiscard]] Result<Finished>
    run(std::vector<std::string> words,
        const Deadline& deadline = Deadline::in(std::chrono::seconds(20))) const;

private:
    TempDir dir_; // first, so that it goes last
    MarkGuard mark_;
};

} // namespace holdfast::harness
