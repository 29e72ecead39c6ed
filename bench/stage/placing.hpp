// Where the two ends of a round trip run.
//
// When the machine is idle, the kernel decides for each pair of processes, and then for thousands of round
// trips in a row, whether who is woken runs on its waker's processor (a switch, some 3 µs) or on an idle one
// (which has to be fetched out of its halt, in a virtual machine some 40 µs each way). How one waits (read,
// poll, epoll, with or without a time) does not decide it: four equal pairs of bare pipes, in turns in one
// run, took 7, 7, 7 and 86 µs. A baseline and ours draw separately, so one figure each shows the draw and not
// what we add. Therefore both are measured under the same placing, under each there is; and the scheduler's
// own choice over many fresh pairs.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::bench {

enum class Placing { one_processor, two_processors };

// Those that this machine can do.
std::vector<Placing> placings();
std::string words_of(Placing placing); // to go on a row's name with

// For its lifetime: this thread, and the first threads of `partners`, which answer it. Other threads stay
// free: work that is moved to them shows.
class Placed {
public:
    Placed(Placing placing, std::vector<pid_t> partners);
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;
    ~Placed();

private:
    cpu_set_t all_{};
    std::vector<pid_t> partners_;
};

// A fresh pair of processes on each side, and what one round trip with it is.
struct DrawnPair {
    std::function<void()> ours;
    std::function<void()> baseline;
};

// What the scheduler's choice gives: of `pairs` that `make` makes, how many were put on one processor, and
// the mean of their medians. Nothing where there is only one processor to choose.
void measure_draws(const std::string& what, int pairs, const std::string& target,
                   const std::function<DrawnPair()>& make);

} // namespace holdfast::bench
