#include "slot/foreign_holder.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "ending/ender.hpp"
#include "holdfast/slot.hpp"
#include "records/pid_file.hpp"
#include "slot/pid_file_reading.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"

#include <poll.h>
#include <regex.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace holdfast::slot {

namespace {

Result<bool> matches(const std::string& expression, const std::string& text) {
    regex_t compiled{};
    int error = ::regcomp(&compiled, expression.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error != 0) {
        char why[128];
        ::regerror(error, &compiled, why, sizeof why);
        return fail(Errc::invalid_argument,
                    base::cat("\"", expression, "\" is not a regular expression: ", std::string_view(why)));
    }
    bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
    ::regfree(&compiled);
    return found;
}

} // namespace

Result<void> check_match(const std::string& match) {
    if (auto ok = matches(match, ""); !ok)
        return std::unexpected(ok.error());
    return {};
}

Result<std::optional<ForeignHolder>> find_foreign_holder(const std::string& pid_file,
                                                         const std::string& match) {
    if (auto ok = check_match(match); !ok)
        return std::unexpected(ok.error());
    auto entry = read_pid_file(pid_file);
    if (!entry || entry->pid == ::getpid())
        return std::nullopt;
    auto process = sys::PidFd::open(entry->pid);
    if (!process || process->ended())
        return std::nullopt;
    // Pidfd first, then its looks: if it has not ended after, they were its own.
    auto stat = sys::read_stat(entry->pid);
    const std::vector<std::string> words = sys::read_cmdline(entry->pid);
    std::string command = sys::join_command(words);
    if (!stat || process->ended())
        return std::nullopt;
    auto proof =
        records::judge_pid_file(*entry, stat->start_ticks, sys::start_unix_seconds(stat->start_ticks));
    if (proof == records::PidFileProof::recycled)
        return std::nullopt;
    const bool same_start = proof == records::PidFileProof::proven;
    const bool same_command = records::runs_command(entry->argv, words);
    bool proven = same_start && same_command;
    if (!proven && !match.empty())
        proven = *matches(match, command);
    std::string doubt;
    if (!proven)
        doubt = same_start ? base::cat("the command that the file names is another: ",
                                       base::printable(sys::join_command(entry->argv)))
                           : "nothing proves that it is the holder";
    return ForeignHolder{.process = std::move(*process),
                         .command = std::move(command),
                         .proven = proven,
                         .doubt = std::move(doubt)};
}

Result<void> wait_for_foreign_holder(const ForeignHolder& holder, const sys::Deadline& deadline,
                                     host::HostWatch& host) {
    for (;;) {
        std::array<pollfd, 2> fds{{{.fd = holder.process.fd(), .events = POLLIN, .revents = 0},
                                   {.fd = host.fd(), .events = POLLIN, .revents = 0}}};
        if (::poll(fds.data(), fds.size(), deadline.poll_timeout()) < 0 && errno != EINTR)
            return sys::fail_sys("poll");
        if (holder.process.ended())
            return {};
        if (host.gone())
            return fail(Errc::cancelled, "gave up waiting");
        if (deadline.passed())
            return fail(Errc::timed_out, "it is still there");
    }
}

Result<void> end_foreign_holder(const ForeignHolder& holder, Millis grace) {
    auto process = holder.process.duplicate();
    if (!process)
        return std::unexpected(process.error());
    ending::Ender ender({.stages = ending::ask_then_kill(grace),
                         .patience = StopOptions{}.patience,
                         .trees = false}); // what is below it is its own to end
    ender.add(std::move(*process));
    const ending::Report report = ender.finish();
    if (report.survivors.empty())
        return {};
    const std::string who = base::cat("process ", holder.process.pid(), " (", holder.command, ")");
    if (const int refused = report.members.front().refused)
        return fail(Errc::not_permitted,
                    base::cat(who, " is alive, but may not be signalled: ", sys::describe_errno(refused)),
                    refused);
    return fail(Errc::survivors, base::cat(who, " did not end after KILL"));
}

} // namespace holdfast::slot
