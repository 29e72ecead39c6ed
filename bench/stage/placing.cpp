#include "stage/placing.hpp"

#include "stage/stage.hpp"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

namespace holdfast::bench {

namespace {

cpu_set_t allowed() {
    cpu_set_t all;
    CPU_ZERO(&all);
    if (::sched_getaffinity(0, sizeof all, &all) != 0)
        give_up("the processors cannot be asked for");
    return all;
}

// The n-th of a set, alone.
cpu_set_t only(const cpu_set_t& all, int n) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &all) && n-- == 0)
            CPU_SET(cpu, &one);
    return one;
}

void place(pid_t who, const cpu_set_t& where) {
    if (::sched_setaffinity(who, sizeof where, &where) != 0 && errno != ESRCH)
        give_up("a process cannot be placed");
}

} // namespace

std::vector<Placing> placings() {
    const cpu_set_t all = allowed();
    if (CPU_COUNT(&all) < 2)
        return {Placing::one_processor};
    return {Placing::one_processor, Placing::two_processors};
}

std::string words_of(Placing placing) {
    switch (placing) {
    case Placing::one_processor:
        return "both ends on one processor";
    case Placing::two_processors:
        return "each end on its own processor";
    }
    return "";
}

Placed::Placed(Placing placing, std::vector<pid_t> partners)
    : all_(allowed())
    , partners_(std::move(partners)) {
    place(0, only(all_, 0));
    for (const pid_t partner : partners_)
        place(partner, only(all_, placing == Placing::two_processors ? 1 : 0));
}

Placed::~Placed() {
    place(0, all_);
    for (const pid_t partner : partners_)
        place(partner, all_);
}

void measure_draws(const std::string& what, int pairs, const std::string& target,
                   const std::function<DrawnPair()>& make) {
    if (placings().size() < 2)
        return;
    constexpr int warming = 500, counted = 500;
    const auto median = [](const std::function<void()>& round_trip) {
        std::vector<double> trips;
        for (int i = 0; i < warming + counted; ++i) {
            const double begin = now_ms();
            round_trip();
            if (i >= warming)
                trips.push_back((now_ms() - begin) * 1000);
        }
        return quantile(trips, 0.5);
    };
    std::vector<double> ours, base;
    for (int i = 0; i < pairs; ++i) {
        const DrawnPair pair = make();
        base.push_back(median(pair.baseline));
        ours.push_back(median(pair.ours));
    }
    const auto together = [](const std::vector<double>& figures) { // a switch, and no processor to be woken
        return std::to_string(
            std::count_if(figures.begin(), figures.end(), [](double one) { return one < 30; }));
    };
    const auto mean = [&](const std::vector<double>& figures) {
        return std::accumulate(figures.begin(), figures.end(), 0.0) / pairs;
    };
    row(what + ", where the scheduler puts them, mean of the medians of " + std::to_string(pairs) +
            " fresh pairs",
        mean(ours), mean(base), "µs", target);
    row_text("of these pairs, those that it put on one processor (under 30 µs)", together(ours),
             together(base), "");
}

} // namespace holdfast::bench
