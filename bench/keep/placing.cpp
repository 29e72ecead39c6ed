#include "keep/placing.hpp"

#include "keep/stage.hpp"

#include <cerrno>
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
    return {Placing::one_processor, Placing::two_processors, Placing::scheduler};
}

std::string words_of(Placing placing) {
    switch (placing) {
    case Placing::one_processor:
        return "both ends on one processor";
    case Placing::two_processors:
        return "each end on its own processor";
    case Placing::scheduler:
        return "where the scheduler puts them";
    }
    return "";
}

Placed::Placed(Placing placing, std::vector<pid_t> partners)
    : all_(allowed())
    , partners_(std::move(partners)) {
    if (placing == Placing::scheduler)
        return;
    place(0, only(all_, 0));
    for (const pid_t partner : partners_)
        place(partner, only(all_, placing == Placing::two_processors ? 1 : 0));
}

Placed::~Placed() {
    place(0, all_);
    for (const pid_t partner : partners_)
        place(partner, all_);
}

} // namespace holdfast::bench
