#include "slot/foreign_holder.hpp"

#include "core/pid_file.hpp"
#include "core/text.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"
#include "sys/whole_file.hpp"

#include <regex.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace holdfast::slot {

namespace {

constexpr std::size_t max_pid_file_bytes = 65536;

double start_unix_seconds(std::uint64_t ticks) {
    auto stat = sys::read_small_file("/proc/stat", std::size_t{1} << 22).value_or("");
    std::size_t at = stat.find("btime ");
    double boot = at == std::string::npos ? 0 : std::strtod(stat.c_str() + at + 6, nullptr);
    return boot + static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Result<bool> matches(const std::string& expression, const std::string& text) {
    regex_t compiled{};
    int error = ::regcomp(&compiled, expression.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error != 0) {
        char why[128];
        ::regerror(error, &compiled, why, sizeof why);
        return fail(Errc::invalid_argument,
                    core::cat("\"", expression, "\" is not a regular expression: ", std::string_view(why)));
    }
    bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
    ::regfree(&compiled);
    return found;
}

} // namespace

Result<std::optional<ForeignHolder>> find_foreign_holder(const std::string& pid_file,
                                                         const std::string& match) {
    if (!match.empty())
        if (auto ok = matches(match, ""); !ok)
            return std::unexpected(ok.error());
    auto text = sys::read_small_file(pid_file, max_pid_file_bytes);
    auto entry = text ? core::parse_pid_file(*text) : std::nullopt;
    if (!entry || entry->pid == ::getpid())
        return std::nullopt;
    auto process = sys::PidFd::open(entry->pid);
    if (!process || process->ended())
        return std::nullopt;
    // Pidfd first, then its looks: if it has not ended after, they were its own.
    auto stat = sys::read_stat(entry->pid);
    std::string command = sys::join_command(sys::read_cmdline(entry->pid));
    if (!stat || process->ended())
        return std::nullopt;
    auto proof = core::judge_pid_file(*entry, stat->start_ticks, start_unix_seconds(stat->start_ticks));
    if (proof == core::PidFileProof::recycled)
        return std::nullopt;
    bool proven = proof == core::PidFileProof::proven;
    if (!proven && !match.empty())
        proven = *matches(match, command);
    return ForeignHolder{.process = std::move(*process), .command = std::move(command), .proven = proven};
}

Result<void> end_foreign_holder(const ForeignHolder& holder, Millis grace) {
    auto who = [&holder] { return core::cat("process ", holder.process.pid(), " (", holder.command, ")"); };
    auto sent = holder.process.signal(SIGTERM);
    if (!sent)
        return fail(
            Errc::not_permitted,
            core::cat(who(), " is alive, but may not be signalled: ", sys::describe_errno(sent.error().sys)),
            sent.error().sys);
    (void)holder.process.signal(SIGCONT);
    if (holder.process.wait_ended(sys::Deadline::in(grace)))
        return {};
    (void)holder.process.signal(SIGKILL);
    if (holder.process.wait_ended(sys::Deadline::in(Millis{30'000})))
        return {};
    return fail(Errc::survivors, core::cat(who(), " did not end after KILL"));
}

Result<PidFile> PidFile::write(const std::string& path, const std::string& text) {
    if (auto written = sys::write_whole(path, text); !written)
        return std::unexpected(written.error());
    return PidFile(path, text);
}

PidFile::~PidFile() {
    if (!path_.empty() && sys::read_small_file(path_, max_pid_file_bytes) == text_)
        ::unlink(path_.c_str());
}

} // namespace holdfast::slot
