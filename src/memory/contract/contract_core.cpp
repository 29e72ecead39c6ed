// core.*, the subscriptions, and the links to the pages.
#include "memory/contract/contract_call.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "memory/repository/damage.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::memory {

namespace {

json::object embedder_health(const Embedder* embedder) {
    if (embedder == nullptr)
        return {{"available", false},
                {"provider", ""},
                {"model", ""},
                {"lastOkAt", nullptr},
                {"lastError", nullptr}};
    const auto health = embedder->health();
    return {{"available", health.available},
            {"provider", health.provider},
            {"model", health.model},
            {"lastOkAt", health.last_ok_ms != 0 ? json::value(health.last_ok_ms) : json::value(nullptr)},
            {"lastError", health.last_error.empty() ? json::value(nullptr) : json::value(health.last_error)},
            {"vectors", health.rows}};
}

} // namespace

json::object counts_of(const Totals& totals) {
    return {{"sessions", totals.sessions},
            {"episodes", totals.episodes},
            {"traces", totals.traces},
            {"feedback", totals.feedback},
            {"objects", totals.objects}};
}

json::object places_of(const HomePaths& paths) {
    return {{"home", paths.home},
            {"config", paths.config},
            {"db", paths.database},
            {"skills", paths.skills},
            {"logs", paths.logs}};
}

json::object set_aside_warning(const std::string& kept_as) {
    return {{"code", "corrupt_database"},
            {"keptAs", kept_as},
            {"message", "a database was corrupt. It was kept aside and a new one begun; 'holdfast memory "
                        "import FILE' brings over what can still be read. Remove the file when it is no "
                        "longer needed"}};
}

json::array log_loss_warnings(const std::vector<LogLoss>& losses) {
    json::array warnings;
    for (const auto& loss : losses)
        warnings.push_back(
            {{"code", loss.rows_missing ? "log_cut" : "log_moved"},
             {"keptAs", loss.note},
             {"message", base::cat(loss.text, ". Remove this note when it is no longer needed")}});
    return warnings;
}

// From memory only: nothing here depends on the size of the database or waits for it.
void core_health(const CallPointer& call) {
    const auto& service = call->service();
    const auto progress = service.progress();
    const auto& paths = service.paths();
    const auto failure = service.failure();
    json::object health{{"ok", failure.empty()},
                        {"version", HOLDFAST_VERSION},
                        {"uptimeMs", service.uptime_ms()},
                        {"agent", call->agent()},
                        {"pid", static_cast<std::int64_t>(::getpid())},
                        {"paths", places_of(paths)},
                        {"phase", name_of(progress.phase)},
                        {"llm", call->contract().host_model().health()},
                        {"embedder", embedder_health(service.embedder())}};
    if (progress.total > 0)
        health["progress"] = {
            {"done", progress.done}, {"total", progress.total}, {"detail", progress.detail}};
    if (!failure.empty())
        health["error"] = failure;
    if (const auto problem = service.config_problem(); !problem.empty())
        health["warnings"].emplace_array().push_back({{"code", "bad_config"}, {"message", problem}});
    if (service.is_open()) {
        health["counts"] = counts_of(service.store().totals());
        const auto indexed = service.recall().indexed();
        json::object index{{"done", indexed.done}, {"total", indexed.total}};
        const auto unreadable = service.recall().unreadable();
        if (!unreadable.empty()) {
            auto& rows = index["unreadable"].emplace_array();
            for (const auto& range : unreadable)
                rows.push_back(
                    {{"first", range.first},
                     {"last", range.last >= none_after ? json::value(nullptr) : json::value(range.last)},
                     {"reason", range.why}});
        }
        health["index"] = std::move(index);
        health["epoch"] = service.store().epoch();
        health["walBytes"] = service.store().wal_bytes();
        if (struct stat file{}; ::stat(paths.database.c_str(), &file) == 0)
            health["dbBytes"] = static_cast<std::int64_t>(file.st_size);
        auto warnings = log_loss_warnings(service.store().earlier_log_losses());
        if (const auto& aside = service.store().set_aside(); !aside.empty())
            warnings.push_back(set_aside_warning(aside));
        if (!unreadable.empty())
            warnings.push_back(
                {{"code", "unreadable_rows"},
                 {"message",
                  base::cat("the store is damaged: ", unreadable.size(),
                            unreadable.size() == 1 ? " place" : " places",
                            " of the table traces, the first at row ", unreadable.front().first,
                            ", cannot be read and will not be found. What to do is said by: holdfast "
                            "memory check")}});
        if (!warnings.empty()) {
            auto& said = health["warnings"];
            if (!said.is_array())
                said.emplace_array();
            for (auto& warning : warnings)
                said.get_array().push_back(std::move(warning));
        }
    }
    call->answer(std::move(health));
}

void core_init(const CallPointer& call) {
    call->answer(json::object{{"ok", true}});
}

void core_shutdown(const CallPointer& call) {
    // Everything asked before is committed first; then the answer, then the end (by whoever serves).
    call->service().submit([](WriteContext&) -> Result<void> { return {}; },
                           [call](Result<void> done) {
                               if (done)
                                   call->answer(json::object{{"ok", true}});
                               else
                                   call->refuse(done.error());
                               call->contract().ask_shutdown(*call->peer());
                           });
}

namespace {

void subscribe(const CallPointer& call, bool logs, std::vector<std::string> types) {
    const auto id = call->contract().subscribe(call->peer(), logs, std::move(types));
    if (id.empty())
        return call->refuse_argument("the subscriptions of a client take at most 32 KiB with their types");
    call->answer(json::object{{"subscriptionId", id}});
}

} // namespace

void events_subscribe(const CallPointer& call) {
    std::vector<std::string> types;
    if (const auto* given = call->params().if_contains("types"); given != nullptr && !given->is_null()) {
        if (!given->is_array())
            return call->refuse_argument("types must be a list of strings");
        for (const auto& type : given->get_array()) {
            if (!type.is_string())
                return call->refuse_argument("types must be a list of strings");
            types.emplace_back(type.get_string());
        }
    }
    subscribe(call, false, std::move(types));
}

void events_unsubscribe(const CallPointer& call) {
    const auto id = call->word("subscriptionId", true);
    if (call->bad())
        return;
    if (!call->contract().unsubscribe(call->peer().get(), id))
        return call->refuse_missing("not_found", "no subscription of that id");
    call->answer(json::object{{"ok", true}});
}

void logs_tail(const CallPointer& call) {
    subscribe(call, true, {});
}

// Only for clients on stdio, which run under the user's own id; the pages themselves may not ask for these.
void viewer_link(const CallPointer& call) {
    constexpr std::int64_t usual_ms = 10 * 60'000;
    const auto valid_ms = call->integer("validMs", false, 1, 24 * 3'600'000).value_or(usual_ms);
    if (call->bad())
        return;
    const auto links = call->contract().page_links();
    if (!links)
        return call->refuse_missing("viewer_not_found", "the owner of this home serves no pages");
    auto link = links->new_link(valid_ms);
    call->answer(
        json::object{{"id", std::move(link.id)}, {"url", std::move(link.url)}, {"validMs", valid_ms}});
}

void viewer_link_state(const CallPointer& call) {
    const auto id = call->word("id", true);
    if (call->bad())
        return;
    const auto links = call->contract().page_links();
    call->answer(json::object{{"state", links ? links->link_state(id) : "gone"}});
}

} // namespace holdfast::memory
