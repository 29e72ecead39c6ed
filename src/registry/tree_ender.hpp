// Ends processes and what is below them: all are signalled, then all are waited for.
#pragma once

#include "holdfast/slot.hpp"
#include "sys/clock.hpp"
#include "sys/pidfd.hpp"

#include <vector>

namespace holdfast::registry {

class TreeEnder {
public:
    explicit TreeEnder(const StopOptions& how)
        : how_(how) {}

    // A root that the caller has identified. This process itself is never ended, wherever it is found.
    void add(sys::PidFd process);
    // TERM and CONT to every root and all that is below it; the grace begins. Nothing under `now`.
    void ask();
    // Waits out the grace, sends KILL to what is left, waits again. Returns what lives on.
    std::vector<Leftover> finish();

private:
    struct Member {
        sys::PidFd process;
        bool asked = false;
        bool frozen = false;
        bool refused = false; // the kernel does not let us signal it: waiting would be in vain
    };
    std::size_t grow();
    void ask_new();
    void freeze();
    void wait_until(const sys::Deadline& deadline);
    [[nodiscard]] bool anybody_to_wait_for();

    StopOptions how_;
    sys::Deadline grace_ = sys::Deadline::at(0);
    std::vector<Member> members_;
};

} // namespace holdfast::registry
