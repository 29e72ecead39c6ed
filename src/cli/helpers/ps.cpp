#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/helpers/helpers.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "cli/shared/watching.hpp"
#include "registry/listing.hpp"
#include "slot/slot_json.hpp"
#include "sys/parallel.hpp"
#include "sys/proc.hpp"
#include "json/json_write.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace holdfast::cli {

using registry::Helper;

namespace {

constexpr std::size_t worth_threads = 200; // helpers to be put into words

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
    return helper.facts.host_pid && helper.info.state == SlotState::owned ? 1 : 0;
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
        return helper.abandoned ? "abandoned" // both guards were killed; the next start ends it, or `stop`
                                : "ending";   // its front is gone, and the keeper ends it
    return std::string(name_of(helper.info.phase));
}

json::object helper_to_json(const Helper& helper) {
    json::object out = slot::json_of(helper.info);
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
    out["spare"] = json::to_array(helper.facts.spare);
    out["containment"] = helper.facts.containment;
    out["cgroup"] = helper.facts.containment == "cgroup"
                        ? json::value(base::cat(helper.facts.cgroup_place, "/holdfast-", helper.id))
                        : json::value(nullptr);
    out["slot"] = helper.facts.slot;
    out["log"] = helper.facts.log;
    out["memory_bytes"] = helper.tree_rss;
    out["processes"] = helper.tree_processes;
    out["state"] = state_of(helper);
    return out;
}

struct Node {
    pid_t pid = 0;
    std::size_t depth = 0;
    std::uint64_t rss = 0;
    std::string command;
};

// Everything below a keeper; of a registered process and of an abandoned tree with the process itself. A
// child comes right after its parent.
std::vector<Node> tree_of(const Helper& helper) {
    std::vector<Node> out, pending;
    auto push = [&pending](pid_t parent, std::size_t depth) {
        auto children = sys::children_of(parent);
        for (auto child = children.rbegin(); child != children.rend(); ++child)
            pending.push_back({.pid = *child, .depth = depth, .rss = 0, .command = {}});
    };
    if (helper.abandoned)
        for (const Leftover& leftover : helper.info.leftovers)
            pending.push_back({.pid = leftover.pid, .depth = 1, .rss = 0, .command = {}});
    else if (helper.alive)
        pending.push_back({.pid = helper.facts.helper.pid, .depth = 1, .rss = 0, .command = {}});
    else if (helper.facts.keeper.pid)
        push(helper.facts.keeper.pid, 1);
    std::set<pid_t> seen;
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    while (!pending.empty()) {
        Node node = std::move(pending.back());
        pending.pop_back();
        auto stat = sys::read_stat(node.pid);
        if (!stat || !seen.insert(node.pid).second)
            continue;
        node.rss = stat->rss_pages * page;
        node.command = sys::command_line_for_people(node.pid);
        push(node.pid, node.depth + 1);
        out.push_back(std::move(node));
    }
    return out;
}

std::string tree_text(const Helper& helper) {
    std::string out;
    for (const Node& node : tree_of(helper))
        out += base::cat(std::string(node.depth * 4, ' '), node.pid, "  ", base::format_size(node.rss), "  ",
                         base::printable(node.command), '\n');
    return out;
}

json::array tree_json(const Helper& helper) {
    json::array out;
    for (const Node& node : tree_of(helper)) {
        json::object one;
        one["pid"] = node.pid;
        one["depth"] = node.depth;
        one["memory_bytes"] = node.rss;
        one["command"] = node.command;
        out.push_back(std::move(one));
    }
    return out;
}

std::string host_cell(const Helper& helper) {
    if (!helper.facts.host_pid)
        return "-";
    std::string command = helper.facts.host_command.substr(0, helper.facts.host_command.find(' '));
    return base::cat(helper.facts.host_pid, ' ', command.substr(command.rfind('/') + 1));
}

std::string dash_if_empty(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string ps_text(const std::vector<Helper>& helpers, const Arguments& arguments) {
    if (arguments.has("json")) {
        const bool with_tree = arguments.has("tree");
        std::vector<std::string> texts(helpers.size());
        sys::in_parallel(helpers.size(), worth_threads, [&](std::size_t first, std::size_t last) {
            for (; first < last; ++first) {
                json::object one = helper_to_json(helpers[first]);
                if (with_tree)
                    one["tree"] = tree_json(helpers[first]);
                texts[first] = base::printable_json(json::to_text(one));
            }
        });
        std::string out;
        for (const std::string& text : texts)
            out += base::cat(out.empty() ? "[" : ",", text);
        return (out.empty() ? "[" : out) + "]\n";
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
                                     base::format_duration(helper.info.age),
                                     host_cell(helper),
                                     std::to_string(holders_of(helper)),
                                     dash_if_empty(helper.info.session),
                                     state_of(helper),
                                     std::to_string(helper.facts.restarts),
                                     std::to_string(helper.tree_processes),
                                     base::format_size(helper.tree_rss)};
        if (any_spared) {
            std::string spares;
            for (const std::string& pattern : helper.facts.spare)
                spares += base::cat(spares.empty() ? "" : ",", pattern);
            row.push_back(dash_if_empty(spares));
        }
        row.push_back(sys::join_command(helper.info.argv));
        table.add(std::move(row));
        if (arguments.has("tree") && (helper.facts.keeper.pid || helper.alive))
            trees += base::cat(helper.id, ' ', base::printable(helper.facts.label), '\n', tree_text(helper));
    }
    return trees.empty() ? table.text() : base::cat(table.text(), '\n', trees);
}

Result<std::vector<Helper>> chosen(const Arguments& arguments) {
    if (auto ok = check_keys(arguments); !ok)
        return std::unexpected(ok.error());
    auto places = places_of(arguments);
    if (!places)
        return std::unexpected(places.error());
    auto helpers = registry::list_helpers(places->helpers, {.stopped = arguments.has("json")});
    if (helpers)
        std::erase_if(*helpers, [](const Helper& helper) { return helper.being_born; });
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
        if (auto first = chosen(arguments); !first)
            return fail_with(first.error());
        return watch(places->helpers, stdout_is_terminal(), [&] {
            auto helpers = chosen(arguments);
            return helpers ? ps_text(*helpers, arguments) : helpers.error().message + "\n";
        });
    }
    auto helpers = chosen(arguments);
    if (!helpers)
        return fail_with(helpers.error());
    return answer(ps_text(*helpers, arguments));
}

int top_command(const Arguments& arguments) {
    auto places = places_of(arguments);
    if (!places)
        return fail_with(places.error());
    if (auto first = chosen(arguments); !first)
        return fail_with(first.error());
    std::map<std::string, std::uint64_t> last_ticks;
    std::int64_t last_time = sys::boottime_ms();
    const auto picture = [&] {
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
            // Of one that is seen for the first time: its average since it started.
            const bool seen = before != last_ticks.end() && helper.cpu_ticks >= before->second;
            const auto worked =
                static_cast<double>(helper.cpu_ticks - (seen ? before->second : 0)) / ticks_per_second;
            const double within =
                seen ? seconds : std::max(0.001, static_cast<double>(helper.info.age.count()) / 1000);
            const double used = worked / within * 100;
            ticks[helper.id] = helper.cpu_ticks;
            memory += helper.tree_rss;
            processes += helper.tree_processes;
            table.add({helper.id, helper.facts.label, std::to_string(std::lround(used)),
                       base::format_size(helper.tree_rss), std::to_string(helper.tree_processes),
                       base::format_duration(helper.info.age), state_of(helper),
                       sys::join_command(helper.info.argv)});
        }
        last_ticks = std::move(ticks);
        return base::cat(helpers->size(), " helpers, ", processes, " processes, ", base::format_size(memory),
                         "\n\n", table.text());
    };
    return stdout_is_terminal() ? watch(places->helpers, true, picture) : answer(picture());
}

} // namespace holdfast::cli
