// What `holdfast run` does with each signal that reaches it, as a table. The rule: as transparent as if the
// command had been started directly. Only TERM is different: it begins the stop plan.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace holdfast::core {

enum class SignalUse {
    own,       // of the process that gets it: a fault, PIPE, CHLD; KILL and STOP, which nobody can catch
    stop_plan, // TERM
    forward,   // the command gets it, and decides
    pause,     // TSTP, TTIN, TTOU: command and front stop
    resume,    // CONT: both go on
};

struct SignalRow {
    int number = 0;
    std::string_view name; // without SIG
    SignalUse use = SignalUse::own;
    bool of_terminal = false; // the kernel sends it to every process of a terminal's process group
    bool of_limit = false;    // the kernel sends it to the very process that has used up a limit of its own
};

// All standard signals (1 to 31), in the order of their numbers.
std::span<const SignalRow> signal_table() noexcept;
// Of a standard signal, or of a real-time one, which are all forwarded. Signals 32 and 33 are the C
// library's.
SignalUse use_of(int signal) noexcept;
// Every signal whose use is not `own`: what a front has to hear.
std::vector<int> signals_of_use();

struct SignalOrigin {
    bool from_kernel = false;   // a terminal, a timer, a limit; not kill(2)
    bool from_self = false;     // by a system call of this process, such as a write beyond RLIMIT_FSIZE
    bool shares_group = false;  // the command is in the process group of whoever got the signal
    bool leads_session = false; // of a terminal: alone it hears that the terminal was hung up
    bool own_terminal = false;  // the command has a terminal of its own (--pty)
    bool can_be_resumed = true; // a shell of the same session is there to continue the stopped job
};

enum class SignalDeed {
    nothing,
    begin_stop,
    forward,
    stop_both,      // forward it, then stop
    stop_self,      // the command has it already
    resume_command, // nobody could continue the job, so it is not to stop at all
    resume_both,    // this process runs already
    copy_size,      // of the user's terminal to the command's
};
SignalDeed deed_for(int signal, const SignalOrigin& origin) noexcept;

} // namespace holdfast::core
