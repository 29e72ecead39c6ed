// The store alone: durable when answered, fenced by its epoch, migrated forward, sound after faults.
#include "memory/domain/feedback.hpp"
#include "memory/ids/ids.hpp"
#include "memory/repository/rows.hpp"
#include "memory/repository/schema.hpp"
#include "memory/writer/store.hpp"
#include "support/memory_home.hpp"
#include "support/memory_turns.hpp"
#include "support/patience.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <thread>

namespace holdfast::memory {
namespace {

using test::add_turn;
using test::TempHome;

std::unique_ptr<Store> open_store(const TempHome& home, std::vector<Progress>* phases = nullptr) {
    StoreOptions options;
    options.path = home.file("memory.db");
    auto store = Store::open(options, [&](const Progress& progress) {
        if (phases != nullptr)
            phases->push_back(progress);
    });
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
}

TEST(MemoryStore, keeps_what_it_answered_across_a_reopen) {
    const TempHome home;
    std::string id;
    {
        auto store = open_store(home);
        id = add_turn(*store, "se_a", "the blue kettle", 1000).value();
        EXPECT_EQ(store->totals().traces, 1);
    }
    auto store = open_store(home);
    EXPECT_EQ(store->totals().traces, 1);
    auto trace = find_trace(**store->reader(), id);
    ASSERT_TRUE(trace && *trace);
    EXPECT_EQ((*trace)->user_text, "the blue kettle");
    EXPECT_EQ((*trace)->session_id, "se_a");
}

TEST(MemoryStore, the_same_turn_again_is_stored_once) {
    const TempHome home;
    auto store = open_store(home);
    const auto first = add_turn(*store, "se_a", "hello", 5).value();
    EXPECT_EQ(add_turn(*store, "se_a", "hello", 5).value(), first);
    EXPECT_NE(add_turn(*store, "se_a", "hello", 6).value(), first); // another time is another turn
    EXPECT_EQ(store->totals().traces, 2);
}

TEST(MemoryStore, an_older_owner_cannot_write) {
    const TempHome home;
    auto old_owner = open_store(home);
    ASSERT_TRUE(add_turn(*old_owner, "se_a", "before", 1));
    auto new_owner = open_store(home); // raises the epoch
    EXPECT_GT(new_owner->epoch(), old_owner->epoch());
    const auto set_epoch = [&home](std::int64_t epoch) {
        auto database = open_database(home.file("memory.db"), OpenMode::read_write).value();
        ASSERT_TRUE(database.exec("UPDATE state SET epoch=" + std::to_string(epoch)));
    };
    // Negative control: with the old epoch in the store the same write passes. So it is the epoch that
    // refuses.
    set_epoch(old_owner->epoch());
    ASSERT_TRUE(add_turn(*old_owner, "se_a", "with its epoch", 2));
    set_epoch(new_owner->epoch());
    auto refused = add_turn(*old_owner, "se_a", "from the past", 3);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::superseded);
    EXPECT_TRUE(old_owner->fenced());
    ASSERT_TRUE(add_turn(*new_owner, "se_a", "after", 4));
    EXPECT_EQ(new_owner->totals().traces, 3);
}

TEST(MemoryStore, concurrent_turns_share_commits_and_none_is_lost) {
    const TempHome home;
    auto store = open_store(home);
    constexpr int writers = 8;
    constexpr int turns = 50;
    std::latch start(writers);
    std::atomic<int> stored = 0;
    std::vector<std::thread> threads;
    for (int w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            start.arrive_and_wait();
            for (int t = 0; t < turns; ++t)
                if (add_turn(*store, "se_" + std::to_string(w), "turn " + std::to_string(t), t))
                    ++stored;
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(stored, writers * turns);
    EXPECT_EQ((*store->reader())->scalar("SELECT count(*) FROM traces").value(), writers * turns);
}

TEST(MemoryStore, a_failing_write_fails_alone) {
    const TempHome home;
    auto store = open_store(home);
    std::latch entered(1);
    std::latch go_on(1);
    // Holds the writer, so that the three below are taken as one batch.
    store->submit(
        [&](WriteContext&) -> Result<void> {
            entered.count_down();
            go_on.wait();
            return {};
        },
        [](Result<void>) {});
    entered.wait();
    std::atomic<int> answered = 0;
    Result<void> bad;
    const auto good = [&](const char* id) {
        store->submit(
            [id](WriteContext& context) -> Result<void> {
                Session session{.id = id, .agent = "x", .opened_at = 1};
                return add_session(context, session);
            },
            [&](Result<void> done) {
                EXPECT_TRUE(done);
                ++answered;
            });
    };
    good("se_1");
    store->submit(
        [](WriteContext& context) { return context.database.exec("INSERT INTO nowhere VALUES(1)"); },
        [&](Result<void> done) {
            bad = std::move(done);
            ++answered;
        });
    good("se_2");
    go_on.count_down();
    store->close();
    EXPECT_EQ(answered, 3);
    EXPECT_FALSE(bad);
    EXPECT_EQ(store->totals().sessions, 2);
}

TEST(MemoryStore, words_are_found_updated_and_forgotten) {
    const TempHome home;
    auto store = open_store(home);
    const auto id = add_turn(*store, "se_a", "Zürich airport", 1).value();
    const auto count = [&](const char* words) {
        return list_traces(**store->reader(), {.words = words}).value().size();
    };
    EXPECT_EQ(count("zurich"), 1U);
    EXPECT_EQ(count("air"), 1U);    // the beginning of a word
    EXPECT_EQ(count("air zu"), 0U); // only the last word is open-ended
    ASSERT_TRUE(store->write([&](WriteContext& context) -> Result<void> {
        auto trace = find_trace(context.database, id);
        (*trace)->user_text = "Basel station";
        return replace_text(context, **trace);
    }));
    EXPECT_EQ(count("zurich"), 0U);
    EXPECT_EQ(count("basel"), 1U);
    ASSERT_TRUE(store->write([&](WriteContext& context) -> Result<void> {
        EXPECT_TRUE(delete_trace(context, id).value());
        return {};
    }));
    EXPECT_EQ(count("basel"), 0U);
    auto report = check_store(*store);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->problems.empty());
    EXPECT_TRUE(report->index_sound);
}

// What a person types into a list, in whatever script: all words, the last one open-ended.
TEST(MemoryStore, lists_find_words_of_every_script) {
    const TempHome home;
    auto store = open_store(home);
    (void)add_turn(*store, "se_zh", "我昨天在北京大学讲了机器学习的课", 1);
    (void)add_turn(*store, "se_ja", "東京タワーの近くで寿司を食べました", 2);
    (void)add_turn(*store, "se_ko", "어제 서울에서 친구를 만났다", 3);
    (void)add_turn(*store, "se_th", "ฉันชอบกินข้าวผัดที่กรุงเทพ", 4);
    (void)add_turn(*store, "se_hi", "मुझे हिन्दी में किताबें पढ़ना पसंद है", 5);
    (void)add_turn(*store, "se_fr", "J’ai bu de l’eau à l’école — c’est bon", 6);
    (void)add_turn(*store, "se_de", "Die Straße nach München ist gesperrt", 7);
    const auto sessions = [&](const std::string& words) {
        std::string all;
        auto traces = list_traces(**store->reader(), {.words = words});
        EXPECT_TRUE(traces) << words;
        if (traces)
            for (const auto& trace : *traces)
                all += trace.session_id.substr(3) + " ";
        auto episodes = list_episode_ids(**store->reader(), {.words = words});
        EXPECT_TRUE(episodes && traces && episodes->size() == traces->size()) << words;
        return all;
    };
    for (const auto& [words, found] : std::vector<std::pair<std::string, std::string>>{{"北京", "zh "},
                                                                                       {"大学", "zh "},
                                                                                       {"机器学习", "zh "},
                                                                                       {"学", "zh "},
                                                                                       {"课", "zh "},
                                                                                       {"京北", ""},
                                                                                       {"昨天，机器", "zh "},
                                                                                       {"東京タワー", "ja "},
                                                                                       {"寿司", "ja "},
                                                                                       {"서울", "ko "},
                                                                                       {"친구", "ko "},
                                                                                       {"กรุงเทพ", "th "},
                                                                                       {"हिन्दी", "hi "},
                                                                                       {"किता", "hi "},
                                                                                       {"l’eau", "fr "},
                                                                                       {"école — bo", "fr "},
                                                                                       {"strasse", "de "},
                                                                                       {"STRASSE", "de "},
                                                                                       {"munchen", "de "},
                                                                                       {"mu\u0308nch", "de "},
                                                                                       {"l\u00a0eau", "fr "},
                                                                                       {"munch ist", ""},
                                                                                       {"…", ""}})
        EXPECT_EQ(sessions(words), found) << words;
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += "word" + std::to_string(i) + " ";
    EXPECT_EQ(sessions(many), "");
    ASSERT_TRUE(store->write([&](WriteContext& context) -> Result<void> {
        StoredObject policy{.id = "po_1",
                            .kind = ObjectKind::policy,
                            .title = "ÜBER GRÖSSE",
                            .body = "von 北京大学",
                            .status = "active"};
        return put_object(context, policy);
    }));
    for (const auto& [words, found] : std::vector<std::pair<std::string, std::size_t>>{
             {"größe", 1}, {"über von", 1}, {"北京", 1}, {"大学 grö", 1}, {"rösse", 0}, {"über nie", 0}})
        EXPECT_EQ(list_objects(**store->reader(), ObjectKind::policy, "", words, 10, 0)->size(), found)
            << words;
    auto report = check_store(*store);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->index_sound);
}

TEST(MemoryStore, a_store_from_before_gets_its_words_read_again_row_by_row) {
    const TempHome home;
    constexpr int rows = 1200;
    {
        auto database = open_database(home.file("memory.db"), OpenMode::read_write_create).value();
        ASSERT_TRUE(migrate(database, home.file("memory.db"), migrations().first(3), [](int, int, auto) {}));
        ASSERT_TRUE(database.exec("BEGIN; INSERT INTO sessions VALUES(1, 's', 'a', NULL, NULL, 1, NULL);"
                                  "INSERT INTO episodes(row, id, session, opened_at) VALUES(1, 'e', 1, 1)"));
        for (int i = 1; i <= rows; ++i)
            ASSERT_TRUE(database.exec("INSERT INTO traces(row, id, session, episode, ts, kind, user_text,"
                                      " agent_text) VALUES(" +
                                      std::to_string(i) + ", 't" + std::to_string(i) +
                                      "', 1, 1, 1, 'turn', '我在北京" + std::to_string(i) + "', '')"));
        ASSERT_TRUE(database.exec("UPDATE state SET next_trace=" + std::to_string(rows + 1) +
                                  ", traces=" + std::to_string(rows) + "; COMMIT"));
    }
    StoreOptions options;
    options.path = home.file("memory.db");
    std::vector<Progress> told;
    auto store = Store::open(options, [&](const Progress& progress) { told.push_back(progress); });
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(list_traces(**(*store)->reader(), {.limit = 5000, .words = "北京"})->size(), std::size_t{rows});
    EXPECT_EQ(list_traces(**(*store)->reader(), {.limit = 5000, .words = "北京 1200"})->size(), 1U);
    EXPECT_TRUE(std::ranges::any_of(told, [](const Progress& progress) {
        return progress.phase == Phase::indexing && progress.done > 0 && progress.done < progress.total;
    }));
    EXPECT_TRUE(check_store(**store)->index_sound);
}

TEST(MemoryStore, check_repairs_an_index_that_disagrees_with_the_text) {
    const TempHome home;
    auto store = open_store(home);
    (void)add_turn(*store, "se_a", "lighthouse", 1);
    ASSERT_TRUE(store->write([](WriteContext& context) {
        return context.database.exec("INSERT INTO traces_words(traces_words) VALUES('delete-all')");
    }));
    EXPECT_TRUE(list_traces(**store->reader(), {.words = "lighthouse"})->empty());
    auto report = check_store(*store);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->index_sound);
    EXPECT_TRUE(report->index_repaired);
    EXPECT_EQ(list_traces(**store->reader(), {.words = "lighthouse"})->size(), 1U);
}

TEST(MemoryStore, a_leftover_log_is_recovered_with_bytes_told) {
    const TempHome home;
    {
        StoreOptions options;
        options.path = home.file("memory.db");
        // No checkpoint while the turns go on: what is copied below is one log, whole, and nothing of it is
        // in the database yet. With one, the log may begin anew at any moment, and how much of it is left to
        // recover would be luck.
        options.checkpoint_frames = 1'000'000;
        auto store = Store::open(options, [](const Progress&) {}).value();
        for (int i = 0; i < 40; ++i)
            ASSERT_TRUE(add_turn(*store, "se_a", std::string(100'000, 'x'), i));
        // What a crash leaves: the files as they are, copied while the owner lives.
        home.copy("memory.db", "crashed.db");
        home.copy("memory.db-wal", "crashed.db-wal");
    }
    const auto log = home.size("crashed.db-wal");
    ASSERT_GE(log, 4'000'000U);
    StoreOptions options;
    options.path = home.file("crashed.db");
    std::vector<Progress> phases;
    auto store = Store::open(options, [&](const Progress& progress) { phases.push_back(progress); });
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ((*store)->totals().traces, 40);
    std::uint64_t last = 0;
    std::uint64_t told = 0;
    for (const auto& progress : phases)
        if (progress.phase == Phase::recovering) {
            EXPECT_GE(progress.done, last);
            EXPECT_EQ(progress.total, log);
            EXPECT_LE(progress.done, log);
            last = progress.done;
            ++told;
        }
    // One at the beginning, one at the end, and one whenever a megabyte more was read, found at the end of a
    // frame.
    constexpr std::uint64_t frame = 4096 + 24;
    EXPECT_GE(told, 2 + log / ((1U << 20) + frame));
    EXPECT_EQ(last, log);
}

TEST(MemoryStore, a_corrupt_file_is_kept_aside_and_reported) {
    const TempHome home;
    {
        auto store = open_store(home);
        (void)add_turn(*store, "se_a", "precious", 1);
    }
    const std::string garbage =
        "this is not a database, but it is somebody's file\n" + std::string(5000, '#');
    home.write("memory.db", garbage);
    auto store = open_store(home);
    ASSERT_FALSE(store->set_aside().empty());
    EXPECT_EQ(home.read_path(store->set_aside()), garbage); // byte for byte
    EXPECT_TRUE(store->set_aside_now());
    EXPECT_TRUE(add_turn(*store, "se_a", "life goes on", 2));
    const auto kept = store->set_aside();
    store.reset();
    // Negative control: a sound file is not set aside. What lies there from before is still told.
    store = open_store(home);
    EXPECT_FALSE(store->set_aside_now());
    EXPECT_EQ(store->set_aside(), kept);
    store.reset();
    std::filesystem::remove(kept);
    EXPECT_TRUE(open_store(home)->set_aside().empty());
}

TEST(MemoryStore, a_newer_schema_is_refused_and_untouched) {
    const TempHome home;
    open_store(home).reset();
    {
        auto database = open_database(home.file("memory.db"), OpenMode::read_write);
        ASSERT_TRUE(database->exec("PRAGMA user_version=99"));
    }
    StoreOptions options;
    options.path = home.file("memory.db");
    auto store = Store::open(options, [](const Progress&) {});
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Errc::unsupported);
    EXPECT_EQ(
        open_database(home.file("memory.db"), OpenMode::read_only)->scalar("PRAGMA user_version").value(),
        99);
}

TEST(MemoryStore, a_breaking_migration_keeps_a_backup_and_a_failing_one_changes_nothing) {
    const TempHome home;
    const std::string path = home.file("m.db");
    auto database = open_database(path, OpenMode::read_write_create).value();
    const Migration one[] = {{1, "first", false, "CREATE TABLE a(x); INSERT INTO a VALUES(7)"}};
    const Migration two[] = {one[0], {2, "second", true, "DROP TABLE a; CREATE TABLE b(y)"}};
    const Migration bad[] = {two[0], two[1], {3, "third", false, "CREATE TABLE c(z); CREATE TABLE c(z)"}};
    std::vector<std::string> told;
    const auto tell = [&](int step, int steps, const char* name) {
        told.push_back(std::to_string(step) + "/" + std::to_string(steps) + " " + name);
    };
    ASSERT_TRUE(migrate(database, path, one, tell));
    EXPECT_FALSE(home.exists("m.db.before-2"));
    ASSERT_TRUE(migrate(database, path, two, tell));
    EXPECT_EQ(told, (std::vector<std::string>{"1/1 first", "1/1 second"}));
    auto backup = open_database(home.file("m.db.before-2"), OpenMode::read_only).value();
    EXPECT_EQ(backup.scalar("SELECT x FROM a").value(), 7);
    EXPECT_FALSE(migrate(database, path, bad, tell));
    EXPECT_EQ(database.scalar("PRAGMA user_version").value(), 2);
    EXPECT_EQ(database.scalar("SELECT count(*) FROM sqlite_schema WHERE name='c'").value(), 0);
    EXPECT_TRUE(migrate(database, path, two, tell)); // again: nothing to do
}

TEST(MemoryStore, a_full_disk_is_said_and_survived) {
    const TempHome home;
    auto store = open_store(home);
    ASSERT_TRUE(add_turn(*store, "se_a", "before", 1));
    // The limit on the database's own pages is the same SQLITE_FULL that a full disk gives, at a place we
    // choose.
    sqlite3* raw = nullptr;
    ASSERT_TRUE(store->write([&](WriteContext& context) -> Result<void> {
        raw = context.database.raw();
        return context.database.exec("PRAGMA max_page_count=60");
    }));
    auto full = add_turn(*store, "se_a", std::string(1 << 20, 'x'), 2);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, Errc::no_space);
    EXPECT_EQ(store->totals().traces, 1);
    ASSERT_TRUE(store->write(
        [&](WriteContext& context) { return context.database.exec("PRAGMA max_page_count=1073741823"); }));
    EXPECT_TRUE(add_turn(*store, "se_a", std::string(1 << 20, 'x'), 2)); // space is back
    EXPECT_TRUE(check_store(*store)->problems.empty());
}

TEST(MemoryStore, the_log_is_copied_back_while_turns_go_on) {
    const TempHome home;
    StoreOptions options;
    options.path = home.file("memory.db");
    options.checkpoint_frames = 50;
    options.reset_frames = 200;
    auto store = Store::open(options, [](const Progress&) {}).value();
    // A log that is copied back is begun again, and its file stops growing; the checkpoints run beside us, so
    // how soon depends on the machine. Without them it would grow with every turn.
    int turn = 0;
    bool begun_again = false;
    for (int batch = 0; batch < 300 && !begun_again; ++batch) {
        const auto before = home.size("memory.db-wal");
        for (int i = 0; i < 50; ++i)
            ASSERT_TRUE(add_turn(*store, "se_a", std::string(4000, 'y'), turn++));
        begun_again = batch > 0 && home.size("memory.db-wal") == before;
    }
    EXPECT_TRUE(begun_again) << home.size("memory.db-wal") << " bytes after " << turn << " turns";
}

TEST(MemoryStore, feedback_moves_the_value_of_its_trace_within_bounds) {
    const TempHome home;
    auto store = open_store(home);
    const auto id = add_turn(*store, "se_a", "hello", 5).value();
    const auto value_after = [&](const char* polarity) {
        EXPECT_TRUE(store->write([&](WriteContext& context) {
            return domain::add_feedback(context, {.id = make_id("fb_"),
                                                  .trace_id = id,
                                                  .channel = "explicit",
                                                  .polarity = polarity,
                                                  .magnitude = 1.0,
                                                  .ts = 1});
        }));
        return (*find_trace(**store->reader(), id))->value;
    };
    EXPECT_NEAR(value_after("positive"), 0.6, 1e-9);
    EXPECT_NEAR(value_after("neutral"), 0.6, 1e-9);
    EXPECT_LT(value_after("negative"), 0);
    for (int i = 0; i < 20; ++i)
        (void)value_after("negative");
    EXPECT_GE(value_after("negative"), -1.0);
    EXPECT_EQ(store->totals().feedback, 24);
}

// The bytes of the database and its log; `unsure` when the mark of what is still to be wiped stays.
std::string wiped_files(Store& store, const TempHome& home) {
    const auto end = std::chrono::steady_clock::now() + test::patient(std::chrono::seconds(20));
    for (;;) {
        {
            auto reader = store.reader();
            const auto marked = (*reader)->scalar("SELECT count(*) FROM settings WHERE name='forgotten'");
            if (marked && *marked == 0)
                break;
        }
        if (std::chrono::steady_clock::now() > end) {
            ADD_FAILURE() << "the mark is still there";
            break;
        }
        std::this_thread::yield();
    }
    return TempHome::read_path(home.file("memory.db")) + TempHome::read_path(home.file("memory.db-wal"));
}

// Short texts lie in pages with others, long ones in pages of their own, and their words in the word index.
TEST(MemoryStore, what_was_forgotten_is_in_none_of_its_files) {
    const TempHome home;
    auto store = open_store(home);
    std::vector<std::string> secret;
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(add_turn(*store, "se_a", "a turn about kettles and ferries " + std::to_string(i), i));
        if (i % 100 != 50)
            continue;
        std::string text = "the word is qqzyzzyva" + std::to_string(i);
        secret.push_back(add_turn(*store, "se_b", text, i).value());
        while (text.size() < 30'000)
            text += " and once more qqzyzzyva";
        secret.push_back(add_turn(*store, "se_b", text, i + 1).value());
    }
    const auto seen = [&](std::string_view word) {
        return (TempHome::read_path(home.file("memory.db")) + TempHome::read_path(home.file("memory.db-wal")))
                   .find(word) != std::string::npos;
    };
    ASSERT_TRUE(seen("zyzzyva"));
    for (const auto& id : secret)
        ASSERT_TRUE(store->write([&](WriteContext& context) -> Result<void> {
            auto removed = delete_trace(context, id);
            EXPECT_TRUE(removed && *removed);
            return {};
        }));
    const auto files = wiped_files(*store, home);
    EXPECT_EQ(files.find("zyzzyva"), files.npos);
    EXPECT_NE(files.find("kettles"), files.npos);
    auto report = check_store(*store);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->problems.empty() && report->index_sound);
    auto others = list_traces(**store->reader(), {.limit = 500, .words = "kettles"});
    EXPECT_EQ(others->size(), 300U);
    EXPECT_EQ(find_episode(**store->reader(), "ep_se_b").value()->turns, 0);
}

// Deleted by an owner that died before it could wipe: the mark is all that the next one has.
TEST(MemoryStore, what_an_owner_left_to_be_wiped_is_wiped_by_the_next) {
    const TempHome home;
    std::string id;
    {
        auto store = open_store(home);
        ASSERT_TRUE(add_turn(*store, "se_a", "about kettles", 1));
        std::string text;
        while (text.size() < 50'000)
            text += "qqzyzzyva again ";
        id = add_turn(*store, "se_a", text, 2).value();
    }
    {
        auto database = open_database(home.file("memory.db"), OpenMode::read_write).value();
        ASSERT_TRUE(database.exec("DELETE FROM traces WHERE id='" + id +
                                  "'; INSERT INTO settings VALUES('forgotten', '1')"));
    }
    ASSERT_NE(TempHome::read_path(home.file("memory.db")).find("zyzzyva"), std::string::npos);
    auto store = open_store(home);
    const auto files = wiped_files(*store, home);
    EXPECT_EQ(files.find("zyzzyva"), files.npos);
    EXPECT_NE(files.find("kettles"), files.npos);
}

TEST(MemoryStore, a_namespace_of_an_earlier_version_is_sorted_once) {
    const TempHome home;
    {
        auto store = open_store(home);
        ASSERT_TRUE(add_turn(*store, "se_a", "x", 1));
    }
    {
        auto database = open_database(home.file("memory.db"), OpenMode::read_write).value();
        ASSERT_TRUE(database.exec("UPDATE sessions SET namespace='{\"z\":1,\"a\":{\"c\":3,\"b\":2}}';"
                                  "DELETE FROM settings"));
    }
    auto store = open_store(home);
    EXPECT_EQ(find_session(**store->reader(), "se_a").value()->name_space, R"({"a":{"b":2,"c":3},"z":1})");
}

} // namespace
} // namespace holdfast::memory
