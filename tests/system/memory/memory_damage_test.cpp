// A home whose files are not as we left them: what is not ours stays as it is, what can still be read is
// kept, and what is made from the text is made again.
#include "memory/repository/rows.hpp"
#include "memory/repository/schema.hpp"
#include "memory/writer/aside.hpp"
#include "memory/writer/store.hpp"
#include "support/memory_home.hpp"
#include "support/memory_turns.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/stat.h>

#include <map>
#include <set>

namespace holdfast::memory {
namespace {

using test::add_turn;
using test::TempHome;

Result<std::unique_ptr<Store>> open_store(const TempHome& home) {
    StoreOptions options;
    options.path = home.file("memory.db");
    return Store::open(options, [](const Progress&) {});
}

// Every file of the home with its bytes and its mode.
std::map<std::string, std::string> bytes_of(const TempHome& home) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(home.path())) {
        struct stat info{};
        ::stat(entry.path().c_str(), &info);
        files[entry.path().filename()] = std::to_string(info.st_mode) + TempHome::read_path(entry.path());
    }
    return files;
}

// What a kill leaves of a store whose log was never copied back: the database is one page, all the rest is
// log.
void leave_young_store(const TempHome& home, const std::string& text) {
    const TempHome elsewhere;
    auto store = open_store(elsewhere).value();
    ASSERT_TRUE(add_turn(*store, "se_a", text, 1));
    for (const char* name : {"memory.db", "memory.db-wal"})
        std::filesystem::copy_file(elsewhere.file(name), home.file(name));
}

TEST(MemoryDamage, a_database_of_another_program_is_left_as_it_is) {
    // Many programs count their schema in the same place as we do.
    for (const int version : {0, 1, 2, 3, 7}) {
        const TempHome home;
        {
            auto theirs = open_database(home.file("memory.db"), OpenMode::read_write_create).value();
            ASSERT_TRUE(theirs.exec("CREATE TABLE mine(x); INSERT INTO mine VALUES(1);"
                                    "CREATE TABLE state(name, value); PRAGMA user_version=" +
                                    std::to_string(version)));
        }
        const auto before = bytes_of(home);
        bool fenced = false;
        StoreOptions options;
        options.path = home.file("memory.db");
        options.on_fenced = [&fenced] { fenced = true; };
        const auto store = Store::open(options, [](const Progress&) {});
        ASSERT_FALSE(store);
        EXPECT_EQ(store.error().code, Errc::unsupported);
        EXPECT_NE(store.error().message.find("another program"), std::string::npos) << store.error().message;
        EXPECT_FALSE(fenced) << "its owner would report another owner instead of the foreign database";
        EXPECT_EQ(bytes_of(home), before) << "version " << version;
    }
}

TEST(MemoryDamage, a_store_of_a_newer_version_is_left_as_it_is_with_its_log) {
    for (const bool with_log : {false, true}) {
        const TempHome home;
        leave_young_store(home, "from the future");
        {
            auto database = open_database(home.file("memory.db"), OpenMode::read_write).value();
            if (with_log)
                sqlite3_db_config(database.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
            ASSERT_TRUE(database.exec("PRAGMA user_version=99"));
        }
        std::filesystem::remove(home.file("memory.db-shm"));
        ASSERT_EQ(home.size("memory.db-wal") > 0, with_log);
        auto before = bytes_of(home);
        const auto store = open_store(home);
        ASSERT_FALSE(store);
        EXPECT_NE(store.error().message.find("newer version"), std::string::npos) << store.error().message;
        auto after = bytes_of(home);
        after.erase("memory.db-shm"); // an index of the log: it holds nothing of its own
        EXPECT_EQ(after, before);
    }
}

// SQLite removes a log that it finds beside no database, unread.
TEST(MemoryDamage, a_log_whose_database_is_gone_is_kept_and_can_be_read) {
    for (const bool missing : {true, false}) {
        const TempHome home;
        leave_young_store(home, "all that there is of it");
        const auto log = TempHome::read_path(home.file("memory.db-wal"));
        std::filesystem::resize_file(home.file("memory.db"), 0);
        if (missing)
            std::filesystem::remove(home.file("memory.db"));
        auto store = open_store(home);
        ASSERT_TRUE(store) << store.error().message;
        EXPECT_TRUE((*store)->set_aside_now());
        const auto kept = (*store)->set_aside();
        EXPECT_EQ(TempHome::read_path(kept + "-wal"), log);
        EXPECT_EQ((*store)->totals().traces, 0);
        EXPECT_TRUE(add_turn(**store, "se_a", "life goes on", 2));
        auto old = open_database(kept, OpenMode::read_only_with_log).value();
        EXPECT_EQ(old.scalar("SELECT count(*) FROM traces WHERE user_text='all that there is of it'").value(),
                  1);
    }
}

// A kill between the renames: the database is put aside already, and its log is not.
TEST(MemoryDamage, a_log_that_was_left_behind_joins_its_database) {
    const TempHome home;
    leave_young_store(home, "one of two files");
    const auto aside = home.file("memory.db.corrupt-1700000000000");
    std::filesystem::rename(home.file("memory.db"), aside);
    const auto log = TempHome::read_path(home.file("memory.db-wal"));
    auto store = open_store(home);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ((*store)->set_aside(), aside);
    EXPECT_EQ(TempHome::read_path(aside + "-wal"), log);
}

TEST(MemoryDamage, nothing_that_lies_aside_is_replaced) {
    const TempHome home;
    std::set<std::string> kept;
    for (int i = 0; i < 20; ++i) { // several within a millisecond
        home.write("memory.db", "no database, number " + std::to_string(i) + std::string(5000, '#'));
        kept.insert(put_aside(home.file("memory.db")).value());
    }
    EXPECT_EQ(kept.size(), 20U);
    for (const auto& path : kept)
        EXPECT_TRUE(std::filesystem::exists(path));
}

// However the index of words is damaged, also so that nothing can be written any more: check makes it anew.
TEST(MemoryDamage, check_makes_every_damaged_index_of_words_anew) {
    const std::pair<const char*, const char*> damages[] = {
        {"words gone", "DELETE FROM traces_words_data WHERE id>10"},
        {"structure gone", "DELETE FROM traces_words_data WHERE id=10"},
        {"structure torn", "UPDATE traces_words_data SET block=x'ff00ff00ff' WHERE id=10"},
        {"settings gone", "DELETE FROM traces_words_config"},
        {"another format", "UPDATE traces_words_config SET v=99 WHERE k='version'"},
        {"no data", "DROP TABLE traces_words_data"},
        {"no pages", "DROP TABLE traces_words_idx"},
        {"no settings", "DROP TABLE traces_words_config"},
        {"no table", "DROP TABLE traces_words"},
        {"no trigger", "DROP TRIGGER traces_words_insert"},
        {"another trigger",
         "DROP TRIGGER traces_words_delete; CREATE TRIGGER traces_words_delete AFTER DELETE ON traces BEGIN "
         "SELECT 1; END"},
    };
    for (const auto& [name, damage] : damages) {
        const TempHome home;
        {
            auto store = open_store(home).value();
            ASSERT_TRUE(add_turn(*store, "se_a", "a lighthouse", 1));
        }
        {
            auto database = open_database(home.file("memory.db"), OpenMode::read_write).value();
            ASSERT_TRUE(database.exec(damage)) << name;
        }
        auto store = open_store(home).value();
        (void)list_traces(**store->reader(),
                          {.words = "lighthouse"}); // a connection that knows the old tables
        auto report = check_store(*store);
        ASSERT_TRUE(report) << name << ": " << report.error().message;
        EXPECT_FALSE(report->index_sound) << name;
        EXPECT_TRUE(report->index_repaired) << name;
        ASSERT_TRUE(add_turn(*store, "se_a", "another lighthouse", 2)) << name;
        auto found = list_traces(**store->reader(), {.words = "lighthouse"});
        ASSERT_TRUE(found) << name << ": " << found.error().message;
        EXPECT_EQ(found->size(), 2U) << name;
        report = check_store(*store);
        ASSERT_TRUE(report) << name;
        EXPECT_TRUE(report->problems.empty() && report->index_sound) << name;
    }
}

// Negative control of the one above, and what --rebuild-index does: a sound index is made anew only when
// asked.
TEST(MemoryDamage, a_sound_index_is_made_anew_when_asked) {
    const TempHome home;
    auto store = open_store(home).value();
    ASSERT_TRUE(add_turn(*store, "se_a", "a lighthouse", 1));
    const auto shape = [&] { return (*store->reader())->scalar("PRAGMA schema_version").value(); };
    const auto before = shape();
    ASSERT_TRUE(check_store(*store)->index_sound);
    EXPECT_EQ(shape(), before);
    const auto report = check_store(*store, true);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->index_sound);
    EXPECT_FALSE(report->index_repaired);
    EXPECT_NE(shape(), before);
    EXPECT_EQ(list_traces(**store->reader(), {.words = "lighthouse"})->size(), 1U);
}

} // namespace
} // namespace holdfast::memory
