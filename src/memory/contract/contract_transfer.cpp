#include "memory/contract/contract_transfer.hpp"

#include "base/text.hpp"
#include "memory/contract/contract_writing.hpp"
#include "memory/store/aside.hpp"
#include "memory/store/ids.hpp"
#include "memory/store/row_reading.hpp"
#include "memory/store/rows.hpp"
#include "memory/transfer/records.hpp"

#include <algorithm>
#include <array>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::size_t most_records = 5000; // in one call, so that one transaction stays short
constexpr std::int64_t note_episode_ms = 12LL * 3600 * 1000; // notes of half a day belong together
constexpr std::string_view default_note_session = "se_notes";

} // namespace

void transfer_import(const CallPointer& call) {
    const auto* given = call->params().if_contains("records");
    const bool stop_at_first = call->flag("stopAtFirst");
    if (call->bad())
        return;
    if (given == nullptr || !given->is_array())
        return call->refuse_argument("records must be a list");
    if (given->get_array().size() > most_records)
        return call->refuse_argument(cat("at most ", most_records, " records at a time"));
    struct Work {
        json::array records;
        std::int64_t stored = 0;
        std::int64_t present = 0;
        std::int64_t taken = 0;
        bool objects = false;
        json::array refused;
    };
    auto work = std::make_shared<Work>();
    work->records = given->get_array();
    call->service().submit(
        [call, work, stop_at_first](WriteContext& context) -> Result<void> {
            work->stored = work->present = work->taken = 0; // a batch that failed runs its writes again
            work->refused.clear();
            const auto clean = call->cleaner();
            for (const auto& record : work->records) {
                Outcome outcome{Fate::refused, "a record is a JSON object"};
                if (record.is_object()) {
                    auto stored = store_record(context, record.get_object(), clean);
                    if (!stored)
                        return std::unexpected(std::move(stored.error()));
                    outcome = std::move(*stored);
                }
                if (outcome.fate == Fate::refused) {
                    work->refused.push_back({{"index", work->taken}, {"reason", outcome.reason}});
                    if (stop_at_first)
                        return {};
                }
                work->stored += outcome.fate == Fate::stored ? 1 : 0;
                work->present += outcome.fate == Fate::present ? 1 : 0;
                ++work->taken;
            }
            return {};
        },
        [call, work](Result<void> done) {
            if (!done)
                return call->refuse(done.error());
            call->service().recall().objects_changed();
            call->answer(json::object{{"stored", work->stored},
                                      {"present", work->present},
                                      {"taken", work->taken},
                                      {"refused", std::move(work->refused)}});
        });
}

void transfer_export(const CallPointer& call) {
    const auto cursor = call->text("cursor", false);
    if (call->bad())
        return;
    call->service().run(call->peer()->lane(), [call, cursor](bool open) {
        if (!open)
            return call->refuse(Error{Errc::closed, call->service().failure(), 0});
        auto reader = call->service().store().reader();
        if (!reader)
            return call->refuse(reader.error());
        auto page = export_page(**reader, cursor, OnDamage::leave_out);
        if (!page)
            return call->refuse(page.error());
        if (page->trouble)
            return call->refuse(*page->trouble);
        json::object shown{{"lines", std::move(page->lines)}, {"count", page->count}};
        for (const auto& rows : page->damaged)
            (shown["damaged"].is_array() ? shown["damaged"].get_array() : shown["damaged"].emplace_array())
                .push_back({{"table", rows.table},
                            {"first", rows.first},
                            {"last", rows.last >= none_after ? json::value(nullptr) : json::value(rows.last)},
                            {"leftOut", rows.left_out},
                            {"reason", rows.why},
                            {"message", in_words(rows)}});
        if (!page->next.empty())
            shown["next"] = page->next;
        // Who takes this for all there is must hear of it, the later ones, too.
        else if (const auto aside = kept_aside(call->service().paths().database); !aside.empty())
            shown["keptAs"] = aside;
        call->answer(std::move(shown));
    });
}

void core_check(const CallPointer& call) {
    const bool rebuild = call->flag("rebuild");
    if (call->bad())
        return;
    call->service().run(call->peer()->lane(), [call, rebuild](bool open) {
        if (!open)
            return call->refuse(Error{Errc::closed, call->service().failure(), 0});
        auto report = check_store(call->service().store(), rebuild);
        if (!report)
            return call->refuse(report.error());
        json::array problems;
        for (const auto& problem : report->problems)
            problems.emplace_back(problem);
        // Of a database that this owner found corrupt, the sound one in its place says nothing.
        const auto& store = call->service().store();
        if (store.set_aside_now())
            problems.emplace_back(cat("the database was corrupt when it was opened; it is kept as ",
                                      store.set_aside(), ", and a new one was begun"));
        const bool database_sound = problems.empty();
        json::array notes;
        for (const auto& loss : log_losses(call->service().paths().database)) {
            auto said = cat(loss.text, " (", loss.note, "; remove it when it is no longer needed)");
            (loss.rows_missing ? problems : notes).emplace_back(std::move(said));
        }
        // Rows that cannot be read say nothing about the index.
        auto agreement = report->problems.empty() ? call->service().recall().check()
                                                  : Result<Recall::Agreement>(Recall::Agreement::sound);
        if (!agreement)
            return call->refuse(agreement.error());
        if (rebuild && *agreement != Recall::Agreement::rebuilding)
            call->service().recall().rebuild();
        constexpr std::array said = {"sound", "repaired", "rebuilding"};
        json::object shown{{"sound", problems.empty()},
                           {"databaseSound", database_sound},
                           {"problems", std::move(problems)},
                           {"indexSound", report->index_sound},
                           {"indexRepaired", report->index_repaired},
                           {"searchIndex", said.at(static_cast<std::size_t>(*agreement))},
                           {"rebuilding", rebuild || *agreement == Recall::Agreement::rebuilding}};
        if (!notes.empty())
            shown["notes"] = std::move(notes);
        if (!store.set_aside().empty())
            shown["keptAs"] = store.set_aside();
        call->answer(std::move(shown));
    });
}

void memory_add(const CallPointer& call) {
    auto trace = std::make_shared<Trace>();
    auto session = std::make_shared<Session>();
    trace->user_text = call->clean(call->word("text", true));
    session->agent = call->text("agent", false);
    session->id = call->text("sessionId", false);
    trace->tags = call->clean_list("tags", false);
    const auto ts = call->integer("ts", false, 0, latest_time);
    if (call->bad())
        return;
    if (trace->user_text.find_first_not_of(" \t\r\n\v\f") == std::string::npos)
        return call->refuse_argument("text must not be blank");
    if (session->agent.empty())
        session->agent = call->agent();
    if (session->id.empty())
        session->id = default_note_session;
    trace->id = make_id("tr_");
    trace->ts = ts.value_or(now_ms());
    trace->kind = "note";
    trace->priority = 0.5;
    trace->summary = summary_of(trace->user_text, "");
    session->opened_at = trace->ts;
    call->service().submit(
        [trace, session, id = trace->id, given = *session,
         fresh = make_id("ep_")](WriteContext& context) -> Result<void> {
            trace->id = id; // a batch that failed runs its writes again
            *session = given;
            if (auto added = add_session(context, *session); !added)
                return added;
            auto open = open_episode_of(context.database, session->row);
            if (!open)
                return std::unexpected(std::move(open.error()));
            Episode episode{.id = fresh, .session_row = session->row, .opened_at = trace->ts};
            if (*open && trace->ts - (*open)->opened_at < note_episode_ms)
                episode = std::move(**open);
            else if (auto added = add_episode(context, episode); !added)
                return added;
            trace->session_row = session->row;
            trace->episode_row = episode.row;
            trace->episode_id = episode.id;
            return add_trace(context, *trace);
        },
        [call, trace, session](Result<void> done) {
            if (!done)
                return call->refuse(done.error());
            call->answer(json::object{
                {"traceId", trace->id}, {"episodeId", trace->episode_id}, {"sessionId", session->id}});
            call->contract().notify("trace.created",
                                    {{"traceId", trace->id}, {"episodeId", trace->episode_id}});
        });
}

} // namespace holdfast::memory
