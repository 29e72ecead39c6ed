// search, add and check: one question, one answer.
#include "base/date_text.hpp"
#include "base/text.hpp"
#include "cli/memory/client.hpp"
#include "cli/memory/memory.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "sys/whole_file.hpp"
#include "json/json_fields.hpp"
#include "json/json_write.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>

namespace holdfast::cli {

using base::cat;

namespace {

Result<MemoryClient> client_of(const Arguments& arguments) {
    auto home = memory_home(arguments);
    if (!home)
        return std::unexpected(std::move(home.error()));
    return MemoryClient::start(*home, arguments, arguments.value("agent").value_or("person"));
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words)
        text += cat(text.empty() ? "" : " ", word);
    return text;
}

bool is_cut(const json::value& found) {
    return found.is_object() && json::bool_field(found.get_object(), "cut");
}

// A search that leaves nothing out. After a large import, or without an index, most of what is stored cannot
// be found yet; whoever asked a program has its "cut" and asks again, a person would take it for "nothing
// there".
Result<json::value> search_all(MemoryClient& client, const json::object& params) {
    auto found = client.call("memory.search", params);
    if (!found || !is_cut(*found))
        return found;
    if (auto waited = client.wait_indexed(); !waited)
        return std::unexpected(std::move(waited.error()));
    return client.call("memory.search", params);
}

Result<std::string> text_from_stdin() {
    std::string text;
    if (const int error = sys::read_to_end(STDIN_FILENO, text, std::size_t{8} << 20); error == EFBIG)
        return fail(Errc::invalid_argument, "a note is at most 8 MiB");
    else if (error != 0)
        return fail(Errc::io, "stdin cannot be read", error);
    while (text.ends_with('\n'))
        text.pop_back();
    return text;
}

} // namespace

int memory_search_command(const Arguments& arguments) {
    json::object params{{"query", joined(arguments.words)}};
    if (auto limit = arguments.value("limit")) {
        int number = 0;
        const auto read = std::from_chars(limit->data(), limit->data() + limit->size(), number);
        if (read.ec != std::errc{} || read.ptr != limit->data() + limit->size() || number < 1 || number > 200)
            return fail_with(
                {Errc::invalid_argument, cat("--limit is a number from 1 to 200, not \"", *limit, "\""), 0});
        params["topK"] = number;
    }
    if (auto session = arguments.value("session"))
        params["sessionId"] = *session;
    int no_home = exit_ok;
    if (!existing_memory_home(arguments, no_home))
        return no_home;
    auto client = client_of(arguments);
    if (!client)
        return fail_with(client.error());
    auto found = search_all(*client, params);
    if (!found)
        return fail_with(found.error());
    if (arguments.has("json"))
        return answer_json(json::to_text(*found));
    const auto* object = found->if_object();
    const auto* hits = object != nullptr ? object->if_contains("hits") : nullptr;
    if (hits == nullptr || !hits->is_array() || hits->get_array().empty()) {
        complain("nothing found; try other words, or fewer");
        client->say_what_lies_aside();
        return exit_ok;
    }
    Table table({"WHEN", "KIND", "ID", "TEXT"});
    for (const auto& hit : hits->get_array()) {
        const auto* one = hit.if_object();
        if (one == nullptr)
            continue;
        table.add({base::date_text(json::integer_field(*one, "ts"), base::Zone::local),
                   json::text_field(*one, "refKind"), json::text_field(*one, "refId"),
                   in_one_line(json::text_field(*one, "snippet"))});
    }
    return answer(table.text());
}

int memory_add_command(const Arguments& arguments) {
    std::string text = joined(arguments.words);
    if (arguments.words.empty()) {
        if (::isatty(STDIN_FILENO) == 1)
            complain("type the note, and end it with Ctrl-D");
        auto read = text_from_stdin();
        if (!read)
            return fail_with(read.error());
        text = std::move(*read);
    }
    if (text.find_first_not_of(" \t\r\n\v\f") == std::string::npos)
        return fail_with({Errc::invalid_argument, "the note is empty; nothing was stored", 0});
    // The time is fixed here, so that asking again after a lost answer cannot store it twice.
    std::timespec now{};
    std::timespec_get(&now, TIME_UTC);
    json::object params{{"text", text},
                        {"ts", static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000}};
    if (auto session = arguments.value("session"))
        params["sessionId"] = *session;
    params["agent"] = arguments.value("agent").value_or("person");
    if (const auto tags = arguments.all("tag"); !tags.empty())
        params["tags"] = json::to_array(tags);
    auto client = client_of(arguments);
    if (!client)
        return fail_with(client.error());
    auto added = client->call("memory.add", std::move(params));
    if (!added)
        return fail_with(added.error());
    if (arguments.has("json"))
        return answer_json(json::to_text(*added));
    return answer(cat(added->is_object() ? json::text_field(added->get_object(), "traceId") : "", '\n'));
}

int memory_check_command(const Arguments& arguments) {
    int no_home = exit_ok;
    const auto home = existing_memory_home(arguments, no_home);
    if (!home)
        return no_home;
    auto client = client_of(arguments);
    if (!client)
        return fail_with(client.error());
    auto checked = client->call("core.check", {{"rebuild", arguments.has("rebuild-index")}});
    if (!checked)
        return fail_with(checked.error());
    const auto* report = checked->if_object();
    const bool sound = report != nullptr && json::bool_field(*report, "sound");
    const auto kept_as = report != nullptr ? json::text_field(*report, "keptAs") : std::string();
    const bool rebuilt = report != nullptr && json::bool_field(*report, "rebuilding");
    if (rebuilt)
        if (auto waited = client->wait_indexed(); !waited)
            return fail_with(waited.error());
    if (arguments.has("json"))
        return answer_json(json::to_text(*checked), sound ? exit_ok : exit_bad_data);
    if (!sound) {
        const bool only_notes = report != nullptr && json::bool_field(*report, "databaseSound");
        complain(only_notes ? "the database itself is sound, but not all that was answered may be in it:"
                            : "the database is damaged:");
        if (report != nullptr)
            for (const auto& problem : json::texts_field(*report, "problems"))
                complain(cat("  ", in_one_line(problem)));
        if (!kept_as.empty())
            complain(cat("bring over what can still be read with: holdfast memory import ", kept_as,
                         " --home ", *home));
        else if (!only_notes)
            complain(cat("bring what can still be read into a new home with: holdfast memory import ", *home,
                         "/data/memory.db --home DIRECTORY; then move ", *home,
                         " away, and that one to its place"));
        return exit_bad_data;
    }
    std::string text = "the database is sound\n";
    for (const auto& note : json::texts_field(*report, "notes"))
        text += cat(in_one_line(note), '\n');
    if (!kept_as.empty())
        text += cat("an earlier one was corrupt, and lies at ", kept_as,
                    "; what can still be read is brought over by: holdfast memory import ", kept_as,
                    " --home ", *home, "\n");
    text += json::bool_field(*report, "indexSound") ? "the full-text index agrees with the text\n"
            : json::bool_field(*report, "indexRepaired")
                ? "the full-text index disagreed with the text; it was built again\n"
                : "the full-text index disagrees with the text\n";
    const auto search_index = json::text_field(*report, "searchIndex");
    if (search_index == "repaired")
        text += "the search index disagreed with the text; it was put right\n";
    if (rebuilt)
        text += search_index == "rebuilding"
                    ? "the search index disagreed with the text; it was built again\n"
                    : "the search index was built again\n";
    return answer(text);
}

} // namespace holdfast::cli
