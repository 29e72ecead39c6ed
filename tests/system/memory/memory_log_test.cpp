// A write-ahead log that a backup or clean-up tool cuts, removes or replaces under its owner: nothing more is
// answered, what can be saved is saved, and it is said.
#include "memory/store/log_loss.hpp"
#include "memory/store/log_watch.hpp"
#include "memory/store/sqlite.hpp"
#include "memory/store/watched_vfs.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <functional>

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

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
        EXPECT_EQ(traces_in(next), turns);
        const auto health = health_of(next);
        EXPECT_TRUE(has_warning(health, harm.cut ? "log_cut" : "log_moved")) << json::serialize(health);
        const auto report = next.call("core.check").at("result").as_object();
        EXPECT_EQ(report.at("sound"), !harm.cut) << json::serialize(report);
        EXPECT_EQ(report.at("databaseSound"), true) << json::serialize(report);
        EXPECT_EQ(report.contains("notes"), !harm.cut);
        // The client's own second try.
        ASSERT_TRUE(next.call("turn.end", turn_params(turns + 1)).contains("result"));
        EXPECT_EQ(traces_in(next), turns + 1);
        EXPECT_TRUE(memory::rows_to_bring_back(home.file("data/memory.db")).empty()) << "they are stored";
    }
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
        auto tool = memory::Database::open(home.file("data/memory.db"), memory::OpenMode::read_write).value();
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
        const memory::LogCapture capture(log);
        auto opened = memory::Database::open(home.file("x.db"), memory::OpenMode::read_write_create,
                                             memory::watched_vfs())
                          .value();
        EXPECT_TRUE(opened.exec("PRAGMA journal_mode=WAL; CREATE TABLE t(a)"));
        return opened;
    }();
    memory::LogWatch watch;
    EXPECT_EQ(watch.look(), memory::LogState::sound) << "not attached";
    ASSERT_TRUE(watch.attach(database, std::move(log), home.file("x.db-wal")));
    EXPECT_EQ(watch.look(), memory::LogState::sound);
    fs::rename(home.file("x.db-wal"), home.file("y"));
    EXPECT_EQ(watch.look(), memory::LogState::elsewhere);
    home.copy("y", "x.db-wal");
    EXPECT_EQ(watch.look(), memory::LogState::elsewhere) << "the same bytes in another file";
    fs::rename(home.file("y"), home.file("x.db-wal"));
    EXPECT_EQ(watch.look(), memory::LogState::sound);
    const auto whole = home.size("x.db-wal");
    fs::resize_file(home.file("x.db-wal"), whole - 1);
    EXPECT_EQ(watch.look(), memory::LogState::cut);
    fs::resize_file(home.file("x.db-wal"), 0);
    fs::resize_file(home.file("x.db-wal"), whole);
    EXPECT_EQ(watch.look(), memory::LogState::cut) << "as long as before, and empty";
    watch.detach();
    sqlite3_db_config(database.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

} // namespace
} // namespace holdfast::test
