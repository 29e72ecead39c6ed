#include "doctor/doctor.hpp"
#include "json/json_write.hpp"

namespace holdfast::doctor {

namespace {

constexpr int schema = 1;

json::array to_array(const std::vector<int>& numbers) {
    json::array out;
    for (int number : numbers)
        out.emplace_back(number);
    return out;
}

json::object to_object(const core::Generation& one) {
    return {{"pid", one.pid},
            {"host_pid", one.host},
            {"generation", one.number},
            {"newest", one.newest},
            {"age_ms", one.age_ms},
            {"idle_ms", one.idle_ms ? json::value(*one.idle_ms) : json::value(nullptr)},
            {"cpu_ms", one.cpu_ms},
            {"memory_bytes", one.memory},
            {"pids", to_array(one.pids)}};
}

json::object to_object(const core::Finding& finding) {
    json::object out;
    out["kind"] = json::string_view(core::name_of(finding.kind).data(), core::name_of(finding.kind).size());
    out["proven"] = finding.proven;
    out["reapable"] = finding.reapable();
    out["pid"] = finding.identity.pid;
    out["start_ticks"] = finding.identity.start_ticks;
    out["uid"] = finding.uid;
    out["command"] = finding.command;
    out["pids"] = to_array(finding.pids);
    out["age_ms"] = finding.age_ms;
    out["memory_bytes"] = finding.memory;
    if (finding.host != 0) {
        out["host_pid"] = finding.host;
        out["host_command"] = finding.host_command;
    }
    for (const core::Generation& one : finding.generations)
        (out.contains("generations") ? out["generations"].get_array() : out["generations"].emplace_array())
            .push_back(to_object(one));
    out["rule"] = finding.rule;
    out["evidence"] = json::to_array(finding.evidence);
    out["doubts"] = json::to_array(finding.doubts);
    return out;
}

struct Sum {
    std::uint64_t findings = 0, processes = 0, memory = 0;
    void add(const core::Finding& finding) {
        ++findings;
        processes += finding.pids.size();
        memory += finding.memory;
    }
    [[nodiscard]] json::object to_object() const {
        return {{"findings", findings}, {"processes", processes}, {"memory_bytes", memory}};
    }
};

} // namespace

std::string to_json(const Report& report) {
    json::array findings;
    Sum proven, suspected, reapable;
    for (const core::Finding& finding : report.findings) {
        findings.push_back(to_object(finding));
        (finding.proven ? proven : suspected).add(finding);
        if (finding.reapable())
            reapable.add(finding);
    }
    json::object out;
    out["schema"] = schema;
    out["processes"] = report.processes;
    out["unreadable"] = report.unreadable;
    if (report.options.under)
        out["under"] = *report.options.under;
    out["findings"] = std::move(findings);
    out["totals"] = json::object{{"proven", proven.to_object()},
                                 {"suspected", suspected.to_object()},
                                 {"reapable", reapable.to_object()}};
    return json::to_text(out);
}

std::string to_json(const ReapReport& report) {
    json::array processes;
    for (const Reaped& one : report.processes) {
        std::string_view outcome = name_of(one.outcome);
        processes.push_back(json::object{{"pid", one.pid},
                                         {"root_pid", one.root},
                                         {"command", one.command},
                                         {"outcome", json::string_view(outcome.data(), outcome.size())},
                                         {"memory_bytes", one.memory}});
    }
    json::object out;
    out["schema"] = schema;
    out["dry_run"] = report.dry_run;
    out["complete"] = report.complete();
    out["processes"] = std::move(processes);
    out["suspected_left_alone"] = report.suspected_left_alone;
    return json::to_text(out);
}

} // namespace holdfast::doctor
