// Two things measured in turns in one loop, and the ratio of each pair.
//
// A machine is faster in one minute than in the next. Figures that are taken one after the other show that
// change and not what differs between the two things. The two figures of a pair are taken within
// milliseconds, so their ratio does not know the minute. The row shows the median of these ratios and their
// quartiles.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::bench {

// The programs that are measured: our own build, or that of another commit.
struct Programs {
    std::string directory;
    [[nodiscard]] std::string path(const std::string& name) const { return directory + "/" + name; }
};

// What the words of a bench program say. `--against DIRECTORY` names the build of another commit: it then
// takes the place of the baseline wherever a row can be measured with both.
struct Run {
    Programs ours;
    std::optional<Programs> other;
};

struct PairRow {
    std::string what;
    std::string beside; // the baseline in words; not shown when another commit is the baseline
    std::string unit;
    // The target: of the median ratio, of the median difference, or of the median of ours. One of them at
    // most.
    std::optional<double> at_most = {};
    std::optional<double> more_at_most = {};
    std::optional<double> ours_at_most = {};
    std::optional<double> p99_at_most = {}; // of the ratio of the 99th percentiles
    bool with_p99 = false;                  // a second row
};

// Measures `rounds` pairs, each in the other order than the one before, and prints the row.
void pair_row(const Run& run, const PairRow& row, int rounds,
              const std::function<double(const Programs&)>& ours, const std::function<double()>& bare);

// The same for figures that were taken in pairs elsewhere.
void pair_row_of(const PairRow& row, const std::vector<double>& ours, const std::vector<double>& base);

// Counts, which no machine changes: "| what | 42 | 17 | 2.47 | | |". With another commit they are compared,
// too.
void count_row(const Run& run, const std::string& what, const std::function<double(const Programs&)>& ours,
               const std::function<std::optional<double>()>& bare);

// One figure alone.
void value_row(const std::string& what, double value, const std::string& unit, std::optional<double> at_most);

// The head of a table of such rows.
void pair_head(const Run& run);

} // namespace holdfast::bench
