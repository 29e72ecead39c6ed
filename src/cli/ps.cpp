#include "cli/exit_codes.hpp"
#include "cli/helpers.hpp"
#include "cli/print.hpp"
#include "cli/settings.hpp"
#include "cli/slot_json.hpp"
#include "cli/watching.hpp"
#include "core/json_fields.hpp"
#include "core/text.hpp"
#include "registry/listing.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace holdfast::cli {

namespace json = boost::json;
using registry::Helper;

namespace {

constexpr Option for_ps[] = {
    {.name = "session", .value = "KEY", .help = "only helpers of this session"},
    {.name = "json", .value = "", .help = "as JSON"},
    {.name = "tree", .value = "", .help = "show the processes of each helper"},
    {.name = "watch", .value = "", .help = "show again whenever something changes", .letter = 'w'},
};
constexpr Option for_top[] = {
    {.name = "session", .value = "KEY", .help = "only helpers of this session"},
};

// A registered process is held by the host that owns its entry; one behind a keeper by the host before its
// front.
int holders_of(const Helper& helper) {
    if (helper.facts.registered)
        return (helper.alive || helper.elsewhere) && helper.info.state == SlotState::owned ? 1 : 0;
    return helper.facts.host_pid ? 1 : 0;
}

std::string state_of(const Helper& helper) {
    if (helper.facts.registered) {
        if (helper.elsewhere)
            return "elsewhere"; // in another container: whether it lives cannot be seen from here
        if (!helper.alive)
            return "ended"; // its host remembers it for a while
        return helper.info.state == SlotState::owned ? "running"
                                                     : "abandoned"; // the host that registered it is gone
    }
    if (helper.info.state == SlotState::orphaned)
        return "ending"; // its front is gone; the keeper, or the next start, ends it
    return std::string(name_of(helper.info.phase));
}

json::object helper_to_json(const Helper& helper) {
    json::object out = to_json_object(helper.info);
    out["id"] = helper.id;
    out["name"] = helper.facts.label;
    out["front_pid"] = helper.facts.registered ? 0 : helper.info.owner_pid;
    out["registered"] = helper.facts.registered;
    if (helper.facts.registered && !helper.alive && !helper.elsewhere)
        out["exit_status"] = helper.facts.ended_at && helper.facts.exit_status >= 0
                                 ? json::value(helper.facts.exit_status)
                                 : json::value(nullptr);
    out["pid"] = helper.facts.helper.pid;
    out["keeper_pid"] = helper.facts.keeper.pid;
    out["host_pid"] = helper.facts.host_pid;
    out["host_command"] = helper.facts.host_command;
    out["holders"] = holders_of(helper);
    out["task"] = helper.facts.task;
    out["restarts"] = helper.facts.restarts;
    out["stop_plan"] = helper.facts.stop_plan;
    out["spare"] = core::to_array(helper.facts.spare);
    out["containment"] = helper.facts.containment;
    out["slot"] = helper.facts.slot;
    out["log"] = helper.facts.log;
    out["memory_bytes"] = helper.tree_rss;
    out["processes"] = helper.tree_processes;
    out["state"] = state_of(helper);
    return out;
}

// Everything below a keeper; below a registered process with that process itself.
std::string tree_text(pid_t root, bool with_root) {
    std::string out;
    struct Node {
        pid_t pid;
        std::size_t depth;
    };
    std::vector<Node> pending;
    auto push = [&pending](pid_t parent, std::size_t depth) {
        auto children = sys::children_of(parent);
        for (auto child = children.rbegin(); child != children.rend(); ++child)
            pending.push_back({*child, depth});
    };
    if (with_root)
        pending.push_back({root, 1});
    else
        push(root, 1);
    while (!pending.empty()) {
        Node node = pending.back();
        pending.pop_back();
        auto stat = sys::read_stat(node.pid);
        if (!stat)
            continue;
        auto page = static_cast<unsigned long long>(::sysconf(_SC_PAGESIZE));
        out += core::cat(std::string(node.depth * 4, ' '), node.pid, "  ",
                         core::format_size(stat->rss_pages * page), "  ",
                         sys::command_line_for_people(node.pid), '\n');
        push(node.pid, node.depth + 1);
    }
    return out;
}

std::string host_cell(const Helper& helper) {
    if (!helper.facts.host_pid)
        return "-";
    std::string command = helper.facts.host_command.substr(0, helper.facts.host_command.find(' '));
    return core::cat(helper.facts.host_pid, ' ', command.substr(command.rfind('/') + 1));
}

std::string dash_if_empty(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string ps_text(const std::vector<Helper>& helpers, const Arguments& arguments) {
    if (arguments.has("json")) {
        json::array out;
        for (const Helper& helper : helpers)
            out.push_back(helper_to_json(helper));
        return json::serialize(out) + "\n";
    }
    if (helpers.empty())
        return "no helpers; start one with: holdfast run -- CMD\n";
    bool any_spared =
        std::any_of(helpers.begin(), helpers.end(), [](const Helper& h) { return !h.facts.spare.empty(); });
    std::vector<std::string> header{"ID",      "NAME",  "PID",      "AGE",   "HOST",  "HOLDERS",
                                    "SESSION", "STATE", "RESTARTS", "PROCS", "MEMORY"};
    if (any_spared)
        header.emplace_back("SPARES");
    header.emplace_back("COMMAND");
    Table table(header);
    std::string trees;
    for (const Helper& helper : helpers) {
        std::vector<std::string> row{helper.id,
                                     helper.facts.label,
                                     helper.facts.helper.pid ? std::to_string(helper.facts.helper.pid) : "-",
                                     core::format_duration(helper.info.age),
                                     host_cell(helper),
                                     std::to_string(holders_of(helper)),
                                     dash_if_empty(helper.info.session),
                                     state_of(helper),
                                     std::to_string(helper.facts.restarts),
                                     std::to_string(helper.tree_processes),
                                     core::format_size(helper.tree_rss)};
        if (any_spared) {
            std::string spares;
            for (const std::string& pattern : helper.facts.spare)
                spares += core::cat(spares.empty() ? "" : ",", pattern);
            row.push_back(dash_if_empty(spares));
        }
        row.push_back(sys::join_command(helper.info.argv));
        table.add(std::move(row));
        if (arguments.has("tree") && (helper.facts.keeper.pid || helper.alive))
            trees += core::cat(
                helper.id, ' ', helper.facts.label, '\n',
                tree_text(helper.alive ? helper.facts.helper.pid : helper.facts.keeper.pid, helper.alive));
    }
    return trees.empty() ? table.text() : core::cat(table.text(), '\n', trees);
}

Result<std::vector<Helper>> chosen(const Arguments& arguments) {
    auto places = places_of(arguments);
    if (!places)
        return std::unexpected(places.error());
    auto helpers = registry::list_helpers(places->helpers, {});
    auto session = arguments.value("session");
    if (helpers && session)
        std::erase_if(*helpers, [&](const Helper& helper) { return helper.info.session != *session; });
    return helpers;
}

} // namespace

std::span<const Option> ps_options() {
    return for_ps;
}
std::span<const Option> top_options() {
    return for_top;
}

int ps_command(const Arguments& arguments) {
    if (arguments.has("watch")) {
        auto places = places_of(arguments);
        if (!places)
            return fail_with(places.error());
        return watch(places->helpers, stdout_is_terminal(), [&] {
            auto helpers = chosen(arguments);
            return helpers ? ps_text(*helpers, arguments) : helpers.error().message + "\n";
        });
    }
    auto helpers = chosen(arguments);
    if (!helpers)
        return fail_with(helpers.error());
    print(ps_text(*helpers, arguments));
    return exit_ok;
}

int top_command(const Arguments& arguments) {
    auto places = places_of(arguments);
    if (!places)
        return fail_with(places.error());
    std::map<std::string, std::uint64_t> last_ticks;
    std::int64_t last_time = sys::boottime_ms();
    return watch(places->helpers, true, [&] {
        auto helpers = chosen(arguments);
        if (!helpers)
            return helpers.error().message + "\n";
        std::int64_t now = sys::boottime_ms();
        auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
        double seconds = std::max(0.001, static_cast<double>(now - last_time) / 1000);
        last_time = now;
        std::sort(helpers->begin(), helpers->end(),
                  [](const Helper& a, const Helper& b) { return a.tree_rss > b.tree_rss; });
        unsigned long long memory = 0;
        std::uint32_t processes = 0;
        Table table({"ID", "NAME", "CPU%", "MEMORY", "PROCS", "AGE", "STATE", "COMMAND"});
        std::map<std::string, std::uint64_t> ticks;
        for (const Helper& helper : *helpers) {
            auto before = last_ticks.find(helper.id);
            double used = before != last_ticks.end() && helper.cpu_ticks >= before->second
                              ? static_cast<double>(helper.cpu_ticks - before->second) / ticks_per_second /
                                    seconds * 100
                              : 0;
            ticks[helper.id] = helper.cpu_ticks;
            memory += helper.tree_rss;
            processes += helper.tree_processes;
            table.add({helper.id, helper.facts.label, std::to_string(std::lround(used)),
                       core::format_size(helper.tree_rss), std::to_string(helper.tree_processes),
                       core::format_duration(helper.info.age), state_of(helper),
                       sys::join_command(helper.info.argv)});
        }
        last_ticks = std::move(ticks);
        return core::cat(helpers->size(), " helpers, ", processes, " processes, ", core::format_size(memory),
                         "\n\n", table.text());
    });
}

} // namespace holdfast::cli
