#include "stepper/stepper.hpp"

#include "stepper/trace.hpp"

#include <thread>

namespace holdfast::stepper {
namespace {

// ptrace binds tracees to a thread, and a wait limited to this thread's tracees leaves the test's other
// children alone. So each run gets a thread; when it ends, PTRACE_O_EXITKILL ends whatever it should have
// missed.
Result<void> run_on_own_thread(Trace& trace) {
    Result<void> result{};
    std::thread([&] { result = trace.run(); }).join();
    return result;
}

} // namespace

Result<Counted> count_syscalls(const Spec& spec) {
    Trace trace(spec, std::nullopt);
    if (auto ran = run_on_own_thread(trace); !ran)
        return std::unexpected(ran.error());
    return Counted{std::move(trace.names), std::move(trace.outcome.family)};
}

Result<Outcome> kill_at(const Spec& spec, std::size_t k, When when) {
    if (k == 0)
        return fail(Errc::invalid_argument, "system calls are counted from 1");
    Trace trace(spec, KillPoint{k, when});
    if (auto ran = run_on_own_thread(trace); !ran)
        return std::unexpected(ran.error());
    return std::move(trace.outcome);
}

} // namespace holdfast::stepper
