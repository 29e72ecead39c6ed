#include "base/text.hpp"
#include "harness/child.hpp"
#include "sys/errors.hpp"

#include <poll.h>

namespace holdfast::harness {

Result<Finished> run_to_end(SpawnSpec spec, const Deadline& deadline, std::string_view input) {
    spec.out = spec.err = Stdio::pipe;
    if (!input.empty())
        spec.in = Stdio::pipe;
    auto child = Child::spawn(spec);
    if (!child)
        return std::unexpected(child.error());
    if (!input.empty()) {
        if (auto written = child->write_in(input); !written)
            return std::unexpected(written.error());
        child->close_in();
    }
    // Both streams at once: a child that fills one pipe while we wait on the other would hang.
    bool open[2] = {true, true};
    while (open[0] || open[1]) {
        pollfd pollers[2] = {{open[0] ? child->out().fd() : -1, POLLIN, 0},
                             {open[1] ? child->err().fd() : -1, POLLIN, 0}};
        const int ready = ::poll(pollers, 2, deadline.remaining_ms());
        if (ready < 0 && errno != EINTR)
            return sys::fail_sys("poll");
        if (ready == 0 && deadline.passed())
            return fail(Errc::timed_out,
                        base::cat(spec.argv[0], " did not end in time; stdout: \"", child->out().buffered(),
                                  "\", stderr: \"", child->err().buffered(), "\""));
        for (int i = 0; ready > 0 && i < 2; ++i) {
            if (pollers[i].revents == 0)
                continue;
            auto more = (i == 0 ? child->out() : child->err()).drain_once();
            open[i] = more && *more;
        }
    }
    auto status = child->wait(deadline);
    if (!status)
        return std::unexpected(status.error());
    return Finished{*status, child->out().buffered(), child->err().buffered()};
}

} // namespace holdfast::harness
