// A write-ahead log that a backup or clean-up tool cuts, removes or replaces under its owner: nothing more is
// answered, what can be saved is saved, and it is said.
#include "database/log_watch.hpp"
#include "database/watched_vfs.hpp"
#include "memory/repository/connection.hpp"
#include "memory/writer/log_loss.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <functional>

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json; // not ours: a second opinion

struct Harm {
    const char* name;
    std::function<void(const TempHome&)> do_it;
    bool cut; // rows may be missing: a note says so. Otherwise the owner still has the whole log
};

const char* const log_name = "data/memory.db-wal";

std::vector<Harm> harms() {
    return {
        {"truncated", [](const TempHome& home) { fs::resize_file(home.file(log_name), 0); }, true},
        {"half of it left",
         [](const TempHome& home) { fs::resize_file(home.file(log_name), home.size(log_name) / 2); }, true},
        {"overwritten",
         [](const TempHome& home) {
             std::fstream(home.file(log_name), std::ios::in | std::ios::out | std::ios::binary)
                 << std::string(100, '\0');
         },
         true},
        {"removed", [](const TempHome& home) { fs::remove(home.file(log_name)); }, false},
        {"moved", [](const TempHome& home) { fs::rename(home.file(log_name), home.file("data/old")); },
         false},
        {"replaced by an older copy",
         [](const TempHome& home) {
             home.copy(log_name, "data/older");
             fs::resize_file(home.file("data/older"), home.size("data/older") / 2);
             fs::rename(home.file("data/older"), home.file(log_name));
         },
         false},
    };
}

bool has_warning(const json::object& health, std::string_view code) {
    const auto* warnings = health.if_contains("warnings");
    if (warnings != nullptr && warnings->is_array())
        for (const auto& warning : warnings->as_array())
            if (warning.at("code").as_string() == code)
                return true;
    return false;
}

TEST(G10NothingAcknowledgedIsLost, a_log_that_is_cut_or_taken_away_under_its_owner_takes_no_turn_with_it) {
    constexpr int turns = 20;
    for (const auto& harm : harms()) {
        SCOPED_TRACE(harm.name);
        const TempHome home;
        MemoryProcess owner(home.path());
        prepare(owner);
        for (int i = 1; i <= turns; ++i)
            ASSERT_TRUE(owner.call("turn.end", turn_params(i)).contains("result"));
        harm.do_it(home);
        const auto refused = owner.call("turn.end", turn_params(turns + 1));
        ASSERT_TRUE(refused.contains("error")) << json::serialize(refused);
        EXPECT_EQ(refused.at("error").at("data").at("code"), "transport_closed");
        EXPECT_EQ(owner.wait_briefly(), 1) << "it left by itself";

        MemoryProcess next(home.path());
        // Perhaps with the one that was refused: it was written, but not answered.
        EXPECT_GE(traces_in(next), turns);
        const auto health = health_of(next);
        EXPECT_TRUE(has_warning(health, harm.cut ? "log_cut" : "log_moved")) << json::serialize(health);
        // What was stored again is no longer said to wait in a file.
        EXPECT_EQ(json::serialize(health).find(".rows"), std::string::npos) << json::serialize(health);
        const auto report = next.call("core.check").at("result").as_object();
        EXPECT_EQ(report.at("sound"), !harm.cut) << json::serialize(report);
        EXPECT_EQ(report.at("databaseSound"), true) << json::serialize(report);
        EXPECT_EQ(report.contains("notes"), !harm.cut);
        EXPECT_EQ(json::serialize(report).find(".rows"), std::string::npos) << json::serialize(report);
        // The client's own second try.
        ASSERT_TRUE(next.call("turn.end", turn_params(turns + 1)).contains("result"));
        EXPECT_EQ(traces_in(next), turns + 1);
        EXPECT_TRUE(memory::rows_to_bring_back(home.file("data/memory.db")).empty()) << "they are stored";
    }
}

std::string id_of_trace(MemoryProcess& memory, int number) {
    const auto listed = memory.call("memory.list_traces", {{"limit", 200}});
    for (const auto& trace : listed.at("result").at("traces").as_array())
        if (trace.at("userText").as_string() == turn_text(number))
            return std::string(trace.at("id").as_string());
    return "";
}

json::object trace_of(MemoryProcess& memory, const std::string& id) {
    const auto answer = memory.call("memory.get_trace", {{"id", id}});
    const auto* trace = answer.if_contains("result");
    return trace != nullptr && trace->is_object() ? trace->get_object() : json::object();
}

// Not only what came: also what was changed and what was forgotten since the log was begun. The first owner
// has copied its log back when it ends, so all that the second changes is of before.
TEST(G10NothingAcknowledgedIsLost, a_cut_log_takes_no_change_with_it_and_brings_nothing_back) {
    const TempHome home;
    std::string forgotten;
    std::string judged;
    {
        MemoryProcess first(home.path());
        prepare(first);
        for (int i = 1; i <= 20; ++i)
            ASSERT_TRUE(first.call("turn.end", turn_params(i)).contains("result"));
        ASSERT_TRUE(
            first.call("skill.add", {{"id", "sk_1"}, {"title", "old"}, {"body", "b"}}).contains("result"));
        ASSERT_TRUE(
            first.call("policy.add", {{"id", "po_1"}, {"title", "p"}, {"body", "b"}}).contains("result"));
        ASSERT_TRUE(first.call("session.open", {{"agent", "a"}, {"sessionId", "closed"}}).contains("result"));
        forgotten = id_of_trace(first, 4);
        judged = id_of_trace(first, 5);
        first.close_input();
        ASSERT_EQ(first.wait(), 0);
    }
    std::string new_and_forgotten;
    double value = 0;
    {
        MemoryProcess owner(home.path());
        ASSERT_TRUE(owner.call("turn.end", turn_params(21)).contains("result"));
        ASSERT_TRUE(owner.call("turn.end", turn_params(22)).contains("result"));
        new_and_forgotten = id_of_trace(owner, 21);
        for (const auto& id : {forgotten, new_and_forgotten})
            ASSERT_TRUE(owner.call("memory.forget", {{"id", id}}).contains("result"));
        ASSERT_TRUE(owner
                        .call("feedback.submit", {{"traceId", judged},
                                                  {"channel", "explicit"},
                                                  {"polarity", "positive"},
                                                  {"magnitude", 1}})
                        .contains("result"));
        value = trace_of(owner, judged).at("value").to_number<double>();
        ASSERT_GT(value, 0);
        ASSERT_TRUE(
            owner.call("skill.add", {{"id", "sk_1"}, {"title", "new"}, {"body", "b"}}).contains("result"));
        ASSERT_TRUE(owner.call("policy.archive", {{"id", "po_1"}}).contains("result"));
        ASSERT_TRUE(owner.call("session.close", {{"sessionId", "closed"}}).contains("result"));
        fs::resize_file(home.file(log_name), 0);
        EXPECT_EQ(owner.wait_briefly(), 1);
    }
    // And again, by an owner that was killed before anybody asked: nothing is undone by it.
    for (int round = 0; round < 2; ++round) {
        MemoryProcess next(home.path());
        EXPECT_EQ(traces_in(next), 20) << round;
        for (const auto& id : {forgotten, new_and_forgotten})
            EXPECT_TRUE(trace_of(next, id).empty()) << "it was forgotten";
        EXPECT_EQ(trace_of(next, judged).at("value").to_number<double>(), value);
        const auto found = json::serialize(next.call("memory.search", {{"query", turn_text(4)}}));
        EXPECT_EQ(found.find(forgotten), std::string::npos) << found;
        const auto lines = json::serialize(next.call("transfer.export"));
        EXPECT_NE(lines.find(R"(\"title\":\"new\")"), std::string::npos) << lines;
        EXPECT_EQ(lines.find(R"(\"title\":\"old\")"), std::string::npos) << lines;
        EXPECT_NE(lines.find(R"(\"status\":\"archived\")"), std::string::npos) << lines;
        const auto closed = lines.find(R"(\"id\":\"closed\")");
        ASSERT_NE(closed, std::string::npos) << lines;
        EXPECT_NE(lines.substr(closed, lines.find(R"(\n)", closed) - closed).find("closedAt"),
                  std::string::npos)
            << lines;
        const auto checked = next.call("core.check").at("result").as_object();
        EXPECT_EQ(checked.at("databaseSound"), true) << json::serialize(checked);
        EXPECT_EQ(checked.at("indexSound"), true) << json::serialize(checked);
        kill_and_reap(next);
    }
}

// An owner that is killed leaves its log behind, and what it forgot may stand only there.
TEST(G10NothingAcknowledgedIsLost, what_a_killed_owner_forgot_is_not_in_the_hands_of_a_later_log) {
    const TempHome home;
    std::string forgotten;
    {
        MemoryProcess first(home.path());
        prepare(first);
        for (int i = 1; i <= 5; ++i)
            ASSERT_TRUE(first.call("turn.end", turn_params(i)).contains("result"));
        forgotten = id_of_trace(first, 4);
        first.close_input();
        ASSERT_EQ(first.wait(), 0);
    }
    {
        MemoryProcess killed(home.path());
        ASSERT_EQ(traces_in(killed), 5);
        // Somebody reads at that moment, so that the log cannot be emptied.
        auto tool = memory::open_database(home.file("data/memory.db"), memory::OpenMode::read_only).value();
        ASSERT_TRUE(tool.exec("BEGIN; SELECT count(*) FROM traces"));
        ASSERT_TRUE(killed.call("memory.forget", {{"id", forgotten}}).contains("result"));
        kill_and_reap(killed);
        ASSERT_GT(home.size(log_name), 0U);
    }
    {
        MemoryProcess owner(home.path());
        ASSERT_EQ(traces_in(owner), 4);
        fs::resize_file(home.file(log_name), 0);
        EXPECT_EQ(owner.wait_briefly(), 1);
    }
    MemoryProcess next(home.path());
    EXPECT_EQ(traces_in(next), 4);
    EXPECT_TRUE(trace_of(next, forgotten).empty());
}

// What waits to be stored is stored before anybody is served, or nobody is: later it would undo what was done
// in between.
TEST(G10NothingAcknowledgedIsLost, rows_that_cannot_be_stored_again_keep_the_store_from_opening) {
    const TempHome home;
    {
        MemoryProcess owner(home.path());
        prepare(owner);
        ASSERT_TRUE(owner.call("turn.end", turn_params(1)).contains("result"));
        owner.close_input();
        ASSERT_EQ(owner.wait(), 0);
    }
    const auto rows = home.file("data/memory.db.log-cut-1700000000000.rows");
    fs::create_directory(rows); // it can be opened, and not be read
    {
        MemoryProcess refused(home.path());
        const auto answer = json::serialize(refused.call("memory.list_traces"));
        EXPECT_NE(answer.find("move that file away"), std::string::npos) << answer;
    }
    fs::remove(rows);
    MemoryProcess next(home.path());
    EXPECT_EQ(traces_in(next), 1);
}

// Nobody writes and nobody asks: it finds out all the same.
TEST(G10NothingAcknowledgedIsLost, an_idle_owner_notices_that_its_log_was_cut) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    ASSERT_TRUE(owner.call("turn.end", turn_params(1)).contains("result"));
    fs::resize_file(home.file(log_name), 0);
    EXPECT_EQ(owner.wait(), 1);
    MemoryProcess next(home.path());
    EXPECT_EQ(traces_in(next), 1);
}

// Negative control: what another process rightly does to the log is no alarm.
TEST(G10NothingAcknowledgedIsLost, a_log_that_a_tool_copies_back_and_empties_is_no_alarm) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    for (int i = 1; i <= 50; ++i) {
        ASSERT_TRUE(owner.call("turn.end", turn_params(i)).contains("result")) << i;
        auto tool = memory::open_database(home.file("data/memory.db"), memory::OpenMode::read_write).value();
        sqlite3_busy_timeout(tool.raw(), 30'000);
        ASSERT_TRUE(tool.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
        ASSERT_EQ(home.size(log_name), 0U);
    }
    EXPECT_EQ(served_by(owner), owner.pid());
    EXPECT_EQ(traces_in(owner), 50);
    EXPECT_TRUE(memory::log_losses(home.file("data/memory.db")).empty());
}

// The watch alone, at each state of a log.
TEST(LogWatch, tells_a_sound_log_from_one_that_was_cut_or_is_elsewhere) {
    const TempHome home;
    sys::Fd log;
    auto database = [&] {
        const database::LogCapture capture(log);
        auto opened = memory::open_database(home.file("x.db"), memory::OpenMode::read_write_create,
                                            database::watched_vfs())
                          .value();
        EXPECT_TRUE(opened.exec("PRAGMA journal_mode=WAL; CREATE TABLE t(a)"));
        return opened;
    }();
    database::LogWatch watch;
    EXPECT_EQ(watch.look(), database::LogState::sound) << "not attached";
    ASSERT_TRUE(watch.attach(database, std::move(log), home.file("x.db-wal")));
    EXPECT_EQ(watch.look(), database::LogState::sound);
    fs::rename(home.file("x.db-wal"), home.file("y"));
    EXPECT_EQ(watch.look(), database::LogState::elsewhere);
    home.copy("y", "x.db-wal");
    EXPECT_EQ(watch.look(), database::LogState::elsewhere) << "the same bytes in another file";
    fs::rename(home.file("y"), home.file("x.db-wal"));
    EXPECT_EQ(watch.look(), database::LogState::sound);
    const auto whole = home.size("x.db-wal");
    fs::resize_file(home.file("x.db-wal"), whole - 1);
    EXPECT_EQ(watch.look(), database::LogState::cut);
    EXPECT_EQ(watch.look(database::LogWatch::Part::place), database::LogState::cut);
    fs::resize_file(home.file("x.db-wal"), 0);
    fs::resize_file(home.file("x.db-wal"), whole);
    EXPECT_EQ(watch.look(), database::LogState::cut) << "as long as before, and empty";
    EXPECT_EQ(watch.look(database::LogWatch::Part::place), database::LogState::sound) << "it reads nothing";
    watch.detach();
    sqlite3_db_config(database.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

} // namespace
} // namespace holdfast::test
