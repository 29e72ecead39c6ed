#include "stage/pairs.hpp"

#include "stage/stage.hpp"

#include <cstdio>

namespace holdfast::bench {

namespace {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
}

std::string whole(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", value);
    return text;
}

// What a figure is to be at most, and what it is.
struct Target {
    std::optional<double> at_most;
    double judged = 0;
    std::string words; // behind the number
};

void print(const std::string& what, const std::string& ours, const std::string& base,
           const std::string& ratio, const Target& target) {
    const std::string aim = target.at_most ? "at most " + number(*target.at_most) + target.words : "";
    const char* verdict = !target.at_most ? "" : target.judged <= *target.at_most ? "met" : "missed";
    std::printf("| %s | %s | %s | %s | %s | %s |\n", what.c_str(), ours.c_str(), base.c_str(), ratio.c_str(),
                aim.c_str(), verdict);
    std::fflush(stdout);
}

} // namespace

void pair_head(const Run& run) {
    std::printf("| what | %s | %s | ratio (quartiles) | target | |\n|---|---|---|---|---|---|\n",
                run.other ? "this commit" : "holdfast", run.other ? "the other commit" : "baseline");
}

void pair_row_of(const PairRow& row, const std::vector<double>& ours, const std::vector<double>& base) {
    std::vector<double> ratios, differences;
    for (std::size_t i = 0; i < ours.size() && i < base.size(); ++i) {
        differences.push_back(ours[i] - base[i]);
        if (base[i] > 0)
            ratios.push_back(ours[i] / base[i]);
    }
    const double median = quantile(ratios, 0.5);
    Target target{.at_most = row.at_most, .judged = median, .words = ""};
    if (row.more_at_most)
        target = {row.more_at_most, quantile(differences, 0.5), " " + row.unit + " more"};
    else if (row.ours_at_most)
        target = {row.ours_at_most, quantile(ours, 0.5), " " + row.unit};
    const std::string what = row.beside.empty() ? row.what : row.what + "; beside " + row.beside;
    print(what, number(quantile(ours, 0.5)) + " " + row.unit, number(quantile(base, 0.5)) + " " + row.unit,
          number(median) + " (" + number(quantile(ratios, 0.25)) + " to " + number(quantile(ratios, 0.75)) +
              ")",
          target);
    if (!row.with_p99)
        return;
    // A tail has no pairs: of each side the 99th percentile of this same run.
    const double tail = quantile(ours, 0.99), base_tail = quantile(base, 0.99);
    print("the same, p99", number(tail) + " " + row.unit, number(base_tail) + " " + row.unit,
          number(base_tail > 0 ? tail / base_tail : 0),
          {.at_most = row.p99_at_most, .judged = base_tail > 0 ? tail / base_tail : 0, .words = ""});
}

void pair_row(const Run& run, const PairRow& row, int rounds,
              const std::function<double(const Programs&)>& ours, const std::function<double()>& bare) {
    const auto base = [&] { return run.other ? ours(*run.other) : bare(); };
    std::vector<double> left, right;
    (void)ours(run.ours), (void)base(); // files are in the cache now, directories exist
    for (int i = 0; i < rounds; ++i) {
        if (i % 2 == 0)
            left.push_back(ours(run.ours));
        right.push_back(base());
        if (i % 2 != 0)
            left.push_back(ours(run.ours));
    }
    PairRow shown = row;
    if (run.other) { // the targets are of the baseline
        shown.beside.clear();
        shown.at_most = shown.more_at_most = shown.ours_at_most = shown.p99_at_most = {};
    }
    pair_row_of(shown, left, right);
}

void count_row(const Run& run, const std::string& what, const std::function<double(const Programs&)>& ours,
               const std::function<std::optional<double>()>& bare) {
    const double mine = ours(run.ours);
    const std::optional<double> base = run.other ? std::optional(ours(*run.other)) : bare();
    print(what, whole(mine), base ? whole(*base) : "", base && *base > 0 ? number(mine / *base) : "", {});
}

void value_row(const std::string& what, double value, const std::string& unit,
               std::optional<double> at_most) {
    print(what, number(value) + " " + unit, "", "",
          {.at_most = at_most, .judged = value, .words = " " + unit});
}

} // namespace holdfast::bench
