// show, forget, sessions and episodes: looking through the memory without a question.
#include "base/date_text.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/memory/client.hpp"
#include "cli/memory/memory.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "json/json_fields.hpp"
#include "json/json_write.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace holdfast::cli {

using base::cat;

namespace {

// A home where there is a memory, and somebody to ask. Nothing: that was said, and `exit_code` is what it
// means.
std::optional<MemoryClient> client_of(const Arguments& arguments, int& exit_code) {
    const auto home = existing_memory_home(arguments, exit_code);
    if (!home)
        return std::nullopt;
    auto client = MemoryClient::start(*home, arguments);
    if (client)
        return std::move(*client);
    exit_code = fail_with(client.error());
    return std::nullopt;
}

std::string field_line(const char* name, const std::string& value) {
    if (value.empty())
        return "";
    std::string padded(name);
    padded.resize(10, ' ');
    return cat(padded, base::printable(value), '\n');
}

std::string part(const char* name, const std::string& text) {
    return text.empty() ? "" : cat('\n', name, ":\n", base::printable_lines(text), '\n');
}

std::string said_by(const json::object& trace, bool user) {
    const auto kind = json::text_field(trace, "kind");
    if (user)
        return kind == "note" ? "note" : kind == "subagent" ? "task" : "user";
    return kind == "subagent" ? "result" : "agent";
}

std::string what_was_said(const json::object& trace) {
    return cat(part(said_by(trace, true).c_str(), json::text_field(trace, "userText")),
               part(said_by(trace, false).c_str(), json::text_field(trace, "agentText")));
}

std::string tool_calls(const json::object& trace) {
    std::string text;
    if (const auto* calls = trace.if_contains("toolCalls"); calls != nullptr && calls->is_array())
        for (const auto& call : calls->get_array())
            text += cat('\n', "tool: ", base::printable(json::to_text(call)), '\n');
    return text;
}

std::string one_trace(const json::object& trace) {
    std::string tags;
    for (const auto& tag : json::texts_field(trace, "tags"))
        tags += cat(tags.empty() ? "" : ", ", tag);
    return cat(field_line("id", json::text_field(trace, "id")),
               field_line("when", base::date_text(json::integer_field(trace, "ts"), base::Zone::local)),
               field_line("session", json::text_field(trace, "sessionId")),
               field_line("episode", json::text_field(trace, "episodeId")), field_line("tags", tags),
               what_was_said(trace), tool_calls(trace));
}

std::string one_object(const json::object& object) {
    return cat(field_line("id", json::text_field(object, "id")),
               field_line("status", json::text_field(object, "status")),
               field_line("title", json::text_field(object, "title")),
               part("text", json::text_field(object, "body")));
}

// What this id may be the id of, and how each is asked for. Ids are opaque: the beginning only says what is
// tried first.
struct Kind {
    std::string_view prefix;
    const char* method;
    std::string (*show)(const json::object&);
};
constexpr std::array kinds = {
    Kind{"tr_", "memory.get_trace", one_trace}, Kind{"sk_", "skill.get", one_object},
    Kind{"po_", "memory.get_policy", one_object}, Kind{"wm_", "memory.get_world", one_object}};

// All turns of an episode, a page at a time. Nothing: there is no such episode. Where nothing can be written
// any more it ends with the code for that.
std::optional<int> show_episode(MemoryClient& client, const std::string& id, bool as_json) {
    std::string after;
    bool first = true;
    for (;;) {
        json::object params{{"episodeId", id}, {"limit", 100}};
        if (!after.empty())
            params["after"] = after;
        auto page = client.call("memory.timeline", std::move(params));
        if (!page && page.error().code == Errc::not_found && first)
            return std::nullopt;
        if (!page)
            return fail_with(page.error());
        const auto* shown = page->if_object();
        const auto* traces = shown != nullptr ? shown->if_contains("traces") : nullptr;
        std::string text;
        if (traces != nullptr && traces->is_array())
            for (const auto& trace : traces->get_array()) {
                if (as_json)
                    text += cat(base::printable_json(json::to_text(trace)), '\n');
                else if (const auto* one = trace.if_object())
                    text += cat(text.empty() && first ? "" : "\n", one_trace(*one));
            }
        if (text.empty() && first)
            complain("this episode has no turns");
        if (!print(text))
            return answer("", exit_ok);
        first = false;
        after = shown != nullptr ? json::text_field(*shown, "next") : "";
        if (after.empty())
            return exit_ok;
    }
}

int show_one(MemoryClient& client, const std::string& id, bool as_json) {
    auto order = kinds;
    std::ranges::stable_partition(order, [&](const Kind& kind) { return id.starts_with(kind.prefix); });
    if (id.starts_with("ep_"))
        if (auto done = show_episode(client, id, as_json))
            return *done;
    for (const auto& kind : order) {
        auto found = client.call(kind.method, {{"id", id}});
        if (!found)
            return fail_with(found.error());
        if (const auto* object = found->if_object())
            return as_json ? answer_json(json::to_text(*found)) : answer(kind.show(*object));
    }
    if (auto done = show_episode(client, id, as_json))
        return *done;
    return fail_with({Errc::not_found, cat("there is nothing with the id ", id), 0});
}

// The table of a list that comes a page at a time, and how to go on.
int show_list(const Arguments& arguments, const char* method, const char* name, json::object params,
              std::vector<std::string> header, std::vector<std::string> (*row)(const json::object&)) {
    if (auto limit = arguments.value("limit")) {
        int number = 0;
        const auto read = std::from_chars(limit->data(), limit->data() + limit->size(), number);
        if (read.ec != std::errc{} || read.ptr != limit->data() + limit->size() || number < 1 || number > 500)
            return fail_with(
                {Errc::invalid_argument, cat("--limit is a number from 1 to 500, not \"", *limit, "\""), 0});
        params["limit"] = number;
    } else {
        params["limit"] = 20;
    }
    if (auto before = arguments.value("before"))
        params["before"] = *before;
    int exit_code = exit_ok;
    auto client = client_of(arguments, exit_code);
    if (!client)
        return exit_code;
    auto page = client->call(method, std::move(params));
    if (!page)
        return fail_with(page.error());
    if (arguments.has("json"))
        return answer_json(json::to_text(*page));
    const auto* shown = page->if_object();
    const auto* list = shown != nullptr ? shown->if_contains(name) : nullptr;
    Table table(std::move(header));
    if (list != nullptr && list->is_array())
        for (const auto& one : list->get_array())
            if (const auto* object = one.if_object())
                table.add(row(*object));
    if (table.empty()) {
        complain(cat("there are no ", arguments.has("before") ? "earlier " : "", name));
        if (!arguments.has("before"))
            client->say_what_lies_aside();
        return exit_ok;
    }
    const int code = answer(table.text());
    if (const auto next = json::text_field(*shown, "next"); !next.empty() && code == exit_ok)
        complain(cat("earlier ones: --before ", next));
    return code;
}

} // namespace

int memory_show_command(const Arguments& arguments) {
    int exit_code = exit_ok;
    auto client = client_of(arguments, exit_code);
    return client ? show_one(*client, arguments.words[0], arguments.has("json")) : exit_code;
}

int memory_forget_command(const Arguments& arguments) {
    int exit_code = exit_ok;
    auto client = client_of(arguments, exit_code);
    if (!client)
        return exit_code;
    for (const auto& id : arguments.words) {
        auto done = client->call("memory.forget", {{"id", id}});
        if (!done) { // the others all the same: what was asked to be forgotten is
            exit_code = fail_with(done.error());
            continue;
        }
        complain(cat("forgotten: ", id));
    }
    return exit_code;
}

int memory_sessions_command(const Arguments& arguments) {
    return show_list(arguments, "memory.sessions", "sessions", {},
                     {"OPENED", "LAST TURN", "EPISODES", "TURNS", "AGENT", "ID"},
                     [](const json::object& session) -> std::vector<std::string> {
                         const auto last = json::integer_field(session, "lastTs");
                         return {base::date_text(json::integer_field(session, "openedAt"), base::Zone::local),
                                 last != 0 ? base::date_text(last, base::Zone::local) : "-",
                                 std::to_string(json::integer_field(session, "episodes")),
                                 std::to_string(json::integer_field(session, "turns")),
                                 json::text_field(session, "agent"),
                                 json::text_field(session, "id")};
                     });
}

int memory_episodes_command(const Arguments& arguments) {
    json::object params;
    if (auto session = arguments.value("session"))
        params["sessionId"] = *session;
    return show_list(arguments, "memory.episodes", "episodes", std::move(params),
                     {"OPENED", "TURNS", "AGENT", "ID", "TEXT"},
                     [](const json::object& episode) -> std::vector<std::string> {
                         return {base::date_text(json::integer_field(episode, "openedAt"), base::Zone::local),
                                 std::to_string(json::integer_field(episode, "turns")),
                                 json::text_field(episode, "agent"), json::text_field(episode, "id"),
                                 in_one_line(json::text_field(episode, "title"))};
                     });
}

} // namespace holdfast::cli
