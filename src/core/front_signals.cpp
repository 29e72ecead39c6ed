#include "core/front_signals.hpp"

#include <array>
#include <csignal>

namespace holdfast::core {

namespace {

using enum SignalUse;

constexpr std::array<SignalRow, 31> rows{{
    {.number = SIGHUP, .name = "HUP", .use = forward, .of_terminal = true},
    {.number = SIGINT, .name = "INT", .use = forward, .of_terminal = true},
    {.number = SIGQUIT, .name = "QUIT", .use = forward, .of_terminal = true},
    {.number = SIGILL, .name = "ILL", .use = own},
    {.number = SIGTRAP, .name = "TRAP", .use = own},
    {.number = SIGABRT, .name = "ABRT", .use = own},
    {.number = SIGBUS, .name = "BUS", .use = own},
    {.number = SIGFPE, .name = "FPE", .use = own},
    {.number = SIGKILL, .name = "KILL", .use = own},
    {.number = SIGUSR1, .name = "USR1", .use = forward},
    {.number = SIGSEGV, .name = "SEGV", .use = own},
    {.number = SIGUSR2, .name = "USR2", .use = forward},
    {.number = SIGPIPE, .name = "PIPE", .use = own},
    {.number = SIGALRM, .name = "ALRM", .use = forward},
    {.number = SIGTERM, .name = "TERM", .use = stop_plan},
    {.number = SIGSTKFLT, .name = "STKFLT", .use = forward},
    {.number = SIGCHLD, .name = "CHLD", .use = own},
    {.number = SIGCONT, .name = "CONT", .use = resume},
    {.number = SIGSTOP, .name = "STOP", .use = own},
    {.number = SIGTSTP, .name = "TSTP", .use = pause, .of_terminal = true},
    {.number = SIGTTIN, .name = "TTIN", .use = pause, .of_terminal = true},
    {.number = SIGTTOU, .name = "TTOU", .use = pause, .of_terminal = true},
    {.number = SIGURG, .name = "URG", .use = forward},
    {.number = SIGXCPU, .name = "XCPU", .use = forward, .of_limit = true},
    {.number = SIGXFSZ, .name = "XFSZ", .use = forward, .of_limit = true},
    {.number = SIGVTALRM, .name = "VTALRM", .use = forward},
    {.number = SIGPROF, .name = "PROF", .use = forward},
    {.number = SIGWINCH, .name = "WINCH", .use = forward, .of_terminal = true},
    {.number = SIGIO, .name = "IO", .use = forward},
    {.number = SIGPWR, .name = "PWR", .use = forward},
    {.number = SIGSYS, .name = "SYS", .use = own},
}};

consteval bool in_order() {
    for (std::size_t at = 0; at < rows.size(); ++at)
        if (rows[at].number != static_cast<int>(at) + 1)
            return false;
    return true;
}
static_assert(in_order(), "a row is found by its signal's number");

const SignalRow* row_of(int signal) noexcept {
    return signal >= 1 && signal <= static_cast<int>(rows.size())
               ? &rows[static_cast<std::size_t>(signal) - 1]
               : nullptr;
}

} // namespace

std::span<const SignalRow> signal_table() noexcept {
    return rows;
}

SignalUse use_of(int signal) noexcept {
    if (const SignalRow* row = row_of(signal))
        return row->use;
    return signal >= SIGRTMIN && signal <= SIGRTMAX ? forward : own;
}

std::vector<int> signals_of_use() {
    std::vector<int> out;
    for (int signal = 1; signal <= SIGRTMAX; ++signal)
        if (use_of(signal) != own)
            out.push_back(signal);
    return out;
}

SignalDeed deed_for(int signal, const SignalOrigin& origin) noexcept {
    const SignalRow* row = row_of(signal);
    const bool of_terminal = row && row->of_terminal;
    const bool only_here = signal == SIGHUP && origin.leads_session;
    const bool command_has_it = of_terminal && origin.from_kernel && origin.shares_group && !only_here;
    switch (use_of(signal)) {
    case own:
        return SignalDeed::nothing;
    case stop_plan:
        return SignalDeed::begin_stop;
    case resume:
        return SignalDeed::resume_both;
    case pause:
        if (!command_has_it)
            return SignalDeed::stop_both;
        return origin.can_be_resumed ? SignalDeed::stop_self : SignalDeed::resume_command;
    case forward:
        break;
    }
    if (signal == SIGWINCH && origin.own_terminal)
        return SignalDeed::copy_size;
    if (row && row->of_limit && (origin.from_kernel || origin.from_self))
        return SignalDeed::nothing; // the limit is counted for each process, and the command has its own
    return command_has_it ? SignalDeed::nothing : SignalDeed::forward;
}

} // namespace holdfast::core
