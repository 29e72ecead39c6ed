#include "stage/counts.hpp"

#include "harness/temp_dir.hpp"
#include "stage/stage.hpp"

#include <sys/resource.h>

#include <regex>
#include <sstream>

namespace holdfast::bench {

namespace {

void run_through(harness::SpawnSpec spec, const std::string& word, const std::string& input) {
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
    if (!child->wait(harness::Deadline::in(patience)))
        give_up(spec.argv.front() + " did not end");
}

} // namespace

Counts count(harness::SpawnSpec spec, const std::string& word, const std::string& input) {
    Counts out;
    rusage before{}, after{};
    ::getrusage(RUSAGE_CHILDREN, &before);
    run_through(spec, word, input);
    ::getrusage(RUSAGE_CHILDREN, &after);
    out.waits = static_cast<double>(after.ru_nvcsw - before.ru_nvcsw);
    out.faults = static_cast<double>(after.ru_minflt - before.ru_minflt);

    const harness::TempDir dir;
    const std::string trace = dir.file("trace");
    const std::vector<std::string> strace{"/usr/bin/strace", "-f", "-qq", "-o", trace};
    spec.argv.insert(spec.argv.begin(), strace.begin(), strace.end());
    run_through(spec, word, input);
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

} // namespace holdfast::bench
