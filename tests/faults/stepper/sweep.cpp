#include "base/text.hpp"
#include "stepper/stepper.hpp"

namespace holdfast::stepper {

Result<std::size_t> sweep(When when, std::size_t most, const std::function<Spec(std::size_t)>& make,
                          const std::function<void(std::size_t, const Outcome&)>& check) {
    // At exit a point may be missing in the middle (a thread that ended inside its call), so one miss is not
    // yet the end there.
    const std::size_t misses_to_stop = when == When::entry ? 1 : 3;
    std::size_t reached = 0;
    std::size_t misses = 0;
    for (std::size_t k = 1; k <= most; ++k) {
        const auto outcome = kill_at(make(k), k, when);
        if (!outcome)
            return std::unexpected(outcome.error());
        check(k, *outcome);
        misses = outcome->reached ? 0 : misses + 1;
        reached += outcome->reached ? 1U : 0U;
        if (misses == misses_to_stop)
            return reached;
    }
    return fail(Errc::overflow, base::cat("after ", most, " system calls the program still had more"));
}

Role root() {
    return [](const ProcessView& process) { return process.order == 0; };
}

Role nth_born(int n) {
    return [n](const ProcessView& process) { return process.order == n; };
}

Role executable(std::string name) {
    return [name = std::move(name)](const ProcessView& process) { return process.exe == name; };
}

Role executed(std::string name) {
    return [name = std::move(name)](const ProcessView& process) {
        return process.execs > 0 && process.exe == name;
    };
}

Role anybody() {
    return [](const ProcessView&) { return true; };
}

std::string to_string(const Ended& ended) {
    static constexpr const char* words[] = {"exited with ", "died of signal ", "was killed here, signal ",
                                            "had to be ended, signal ", "was let go, "};
    return base::cat(ended.process.exe, " (born ", ended.process.order, ", pid ", ended.process.pid, ") ",
                     words[static_cast<int>(ended.how)], ended.value);
}

} // namespace holdfast::stepper
