#include "stage/counts.hpp"

#include "harness/temp_dir.hpp"
#include "stage/stage.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

namespace holdfast::bench {

namespace {

harness::ExitStatus run_through(harness::SpawnSpec spec, const std::string& word, const std::string& input) {
    spec.in = harness::Stdio::pipe;
    if (word.empty()) // nobody reads it: a full pipe would hold it up for ever
        spec.out = harness::Stdio::null;
    auto child = harness::Child::spawn(spec);
    if (!child)
        give_up(child.error().message);
    if (!word.empty() && !child->out().read_until(word, harness::Deadline::in(patience)))
        give_up(spec.argv.front() + " did not say \"" + word + "\"");
    if (!input.empty())
        (void)child->write_in(input);
    child->close_in();
    const auto status = child->wait(harness::Deadline::in(patience));
    if (!status)
        give_up(spec.argv.front() + " did not end");
    return *status;
}

constexpr const char* valgrind = "/usr/bin/valgrind";

std::unexpected<Error> cannot_count(const std::string& why) {
    return fail(Errc::unsupported, why);
}

// A call that valgrind does not know fails with ENOSYS: the program then goes another way, or refuses.
std::string unknown_call(const std::string& log) {
    std::smatch found;
    if (!std::regex_search(log, found, std::regex("unhandled [a-z0-9]+-linux syscall: ([0-9]+)")))
        return "";
    const std::string number = found[1];
    return number + (std::stol(number) == SYS_pidfd_open ? " (pidfd_open)" : "");
}

// One run under callgrind. Each process leaves a file with its command and its total.
Result<double> counted_once(harness::SpawnSpec spec, const std::string& input,
                            const harness::ExitStatus& expected) {
    const harness::TempDir dir;
    const std::vector<std::string> callgrind{valgrind, "--tool=callgrind", "--trace-children=yes",
                                             "--callgrind-out-file=" + dir.file("count.%p"),
                                             "--log-file=" + dir.file("log.%p")};
    spec.argv.insert(spec.argv.begin(), callgrind.begin(), callgrind.end());
    spec.err = harness::Stdio::null;
    const harness::ExitStatus status = run_through(std::move(spec), "", input);
    double sum = 0;
    bool twice = false;
    std::string unknown;
    std::set<std::string> commands;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
        const std::string text = harness::read_file(entry.path()).value_or("");
        std::smatch command, total;
        if (entry.path().stem() == "log") {
            if (const std::string call = unknown_call(text); !call.empty())
                unknown = call;
        } else if (std::regex_search(text, command, std::regex("\\ncmd: *([^\\n]*)")) &&
                   std::regex_search(text, total, std::regex("\\ntotals: *([0-9]+)"))) {
            // A process that is forked and executes nothing begins with the count of its maker.
            twice |= !commands.insert(command[1]).second;
            sum += std::stod(total[1]);
        }
    }
    if (!unknown.empty())
        return cannot_count("valgrind does not know system call " + unknown);
    if (twice)
        return cannot_count("callgrind counts the beginning of a forked process twice");
    if (sum == 0 || !(status == expected))
        return cannot_count("valgrind does not run it: " + harness::to_string(status));
    return sum;
}

} // namespace

Counts count(harness::SpawnSpec spec, const std::string& word, const std::string& input) {
    Counts out;
    rusage before{}, after{};
    ::getrusage(RUSAGE_CHILDREN, &before);
    (void)run_through(spec, word, input);
    ::getrusage(RUSAGE_CHILDREN, &after);
    out.waits = static_cast<double>(after.ru_nvcsw - before.ru_nvcsw);
    out.faults = static_cast<double>(after.ru_minflt - before.ru_minflt);

    const harness::TempDir dir;
    const std::string trace = dir.file("trace");
    const std::vector<std::string> strace{"/usr/bin/strace", "-f", "-qq", "-o", trace};
    spec.argv.insert(spec.argv.begin(), strace.begin(), strace.end());
    (void)run_through(spec, word, input);
    std::istringstream text(harness::read_file(trace).value_or(""));
    const std::regex call("^[0-9]+ +([a-z0-9_]+)\\(.*");
    for (std::string line; std::getline(text, line);) {
        std::smatch found;
        if (!std::regex_match(line, found, call))
            continue; // a signal, an end, the rest of a call that is counted already
        ++out.calls;
        const std::string name = found[1];
        if (name == "execve" && line.find("= -1") == std::string::npos) {
            const std::size_t begin = line.find('"') + 1;
            out.executed.push_back(line.substr(begin, line.find('"', begin) - begin));
        }
        out.forks += name == "clone" || name == "clone3" || name == "fork" || name == "vfork";
    }
    if (out.calls == 0)
        give_up("strace counted nothing");
    return out;
}

Result<double> instructions(harness::SpawnSpec spec, const std::string& input) {
    if (::access(valgrind, X_OK) != 0)
        return cannot_count("valgrind is not installed");
    const harness::ExitStatus expected = run_through(spec, "", input);
    std::vector<double> seen;
    for (int tries = 0; tries < 8; ++tries) {
        const auto now = counted_once(spec, input, expected);
        if (!now)
            return now;
        const auto same = std::find_if(seen.begin(), seen.end(), [&](double before) {
            return std::max(before, *now) <= 1.001 * std::min(before, *now);
        });
        if (same != seen.end())
            return std::min(*same, *now);
        seen.push_back(*now);
    }
    return cannot_count("no two of eight runs agree within 0.1 %");
}

void instructions_row(const Run& run, const std::string& what,
                      const std::function<Result<double>(const Programs&)>& ours,
                      const std::function<Result<double>()>& bare) {
    const auto mine = ours(run.ours);
    const auto base = run.other ? ours(*run.other) : bare();
    if (mine && base)
        return count_row(
            run, what, [&](const Programs& of) { return of.directory == run.ours.directory ? *mine : *base; },
            [&] { return std::optional(*base); });
    const auto text = [](const Result<double>& figure) {
        return figure ? std::to_string(static_cast<long long>(*figure))
                      : "not counted: " + figure.error().message;
    };
    row_text(what, text(mine), text(base), "");
}

} // namespace holdfast::bench
