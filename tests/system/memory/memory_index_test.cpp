// The ranked index beside its store: whatever happens to either, it says what the store has, or is made
// again.
#include "memory/recall/recall.hpp"
#include "memory/repository/rows.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"
#include "support/memory_turns.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <random>
#include <set>

namespace holdfast::memory {
namespace {

using test::TempHome;

// A word of its own for each number. Without digits, and without vowels: parts and stems would be words of
// others.
std::string word(const std::string& kind, int number) {
    std::string text = kind;
    for (const char digit : std::to_string(number))
        text += "bcdfghjkmp"[digit - '0'];
    return text + "x";
}

class Bench {
public:
    explicit Bench(const TempHome& home) {
        StoreOptions options;
        options.path = home.file("memory.db");
        options.on_changes = [this](const RowChanges& changes) {
            if (recall)
                recall->committed(changes);
        };
        store = std::move(*Store::open(options, [](const Progress&) {}));
        recall = std::move(*Recall::open(*store, home.file("index"), [](const Progress&) {}));
        EXPECT_TRUE(recall->wait_indexed(20'000));
    }
    ~Bench() {
        recall->close();
        store->close();
    }
    // Enough of them that the index is written to a file at the end.
    void add(const std::string& kind, int count = 100) const {
        for (int i = 0; i < count; ++i)
            ASSERT_TRUE(test::add_turn(*store, "se_a", word(kind, i), i));
        ASSERT_TRUE(recall->wait_indexed(20'000));
    }
    [[nodiscard]] std::vector<std::string> ask(const std::string& text) const {
        std::vector<std::string> ids;
        const auto answer = recall->search({.text = text, .now_ms = 1, .top_k = 100});
        EXPECT_TRUE(answer);
        if (answer)
            for (const auto& hit : answer->hits)
                ids.push_back(hit.id);
        return ids;
    }
    std::unique_ptr<Store> store;
    std::unique_ptr<Recall> recall;
};

// Flips bits behind the header of each file, which only the checksum of the body can tell.
void damage_files(const TempHome& home) {
    for (const auto& entry : std::filesystem::directory_iterator(home.file("index"))) {
        if (entry.path().extension() != ".seg")
            continue;
        auto bytes = TempHome::read_path(entry.path());
        for (std::size_t at = 200; at < bytes.size(); at += 97)
            bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
        std::ofstream(entry.path(), std::ios::binary | std::ios::trunc) << bytes;
    }
}

TEST(MemoryIndex, check_finds_a_damaged_file_and_builds_the_index_again) {
    const TempHome home;
    {
        const Bench bench(home);
        bench.add("qz");
    }
    damage_files(home);
    const Bench bench(home);
    EXPECT_EQ(bench.recall->check().value(), Recall::Agreement::rebuilding);
    ASSERT_TRUE(bench.recall->wait_indexed(20'000));
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(bench.ask(word("qz", i)).size() > 0, true) << i;
    EXPECT_EQ(bench.recall->check().value(), Recall::Agreement::sound); // negative control
}

// As after `cp`: the rows have the same numbers, sessions and times, and other words.
TEST(MemoryIndex, the_index_of_another_store_is_not_used) {
    const TempHome one;
    const TempHome other;
    {
        const Bench first(one);
        first.add("tz");
        const Bench second(other);
        second.add("vz", 120);
    }
    std::filesystem::copy_file(other.file("memory.db"), one.file("memory.db"),
                               std::filesystem::copy_options::overwrite_existing);
    const Bench bench(one);
    EXPECT_FALSE(bench.ask(word("vz", 17)).empty());
    EXPECT_TRUE(bench.ask(word("tz", 17)).empty());
    EXPECT_EQ(bench.recall->check().value(), Recall::Agreement::sound);
}

// A kill after the commit of a forgetting and before the index's note of it.
TEST(MemoryIndex, a_row_that_went_unnoticed_lends_nothing_to_its_neighbours) {
    const TempHome home;
    {
        const Bench bench(home);
        bench.add("qz");
        EXPECT_FALSE(bench.ask(word("qz", 50)).empty());
    }
    {
        auto database = open_database(home.file("memory.db"), OpenMode::read_write).value();
        ASSERT_TRUE(database.exec("DELETE FROM traces WHERE user_text='" + word("qz", 50) +
                                  "';"
                                  "UPDATE state SET traces=traces-1"));
    }
    const Bench bench(home);
    EXPECT_EQ(bench.ask(word("qz", 50)), std::vector<std::string>());
    EXPECT_EQ(bench.recall->index().left(), 99U);
}

// A store that was set back to a copy from before a forgetting: what is there again is found again.
TEST(MemoryIndex, what_came_back_with_a_copy_of_the_store_is_found) {
    // In a file of the index, or so new that it is read from the store at each start.
    for (const bool in_a_file : {true, false}) {
        const TempHome home;
        std::string id;
        if (!in_a_file)
            Bench(home).add("qz");
        {
            const Bench bench(home);
            if (in_a_file)
                bench.add("qz");
            id = test::add_turn(*bench.store, "se_b", "a heron", 1000).value();
            ASSERT_TRUE(bench.recall->wait_indexed(20'000));
        }
        home.copy("memory.db", "copy.db");
        {
            const Bench bench(home);
            ASSERT_TRUE(bench.store->write([&](WriteContext& context) -> Result<void> {
                EXPECT_TRUE(delete_trace(context, id).value());
                return {};
            }));
            EXPECT_TRUE(bench.ask("heron").empty());
        }
        std::filesystem::rename(home.file("copy.db"), home.file("memory.db"));
        const Bench bench(home);
        EXPECT_EQ(bench.ask("heron"), std::vector<std::string>{id}) << in_a_file;
    }
}

TEST(MemoryIndex, a_damaged_file_is_not_merged_into_a_sound_one) {
    const TempHome home;
    std::filesystem::create_directory(home.file("index"));
    auto index = RankedIndex::open(home.file("index")).value();
    Result<void> kept;
    for (std::int64_t row = 1; row <= 12; ++row) {
        for (int i = 0; i < 40; ++i) {
            std::vector<std::uint64_t> terms = {static_cast<std::uint64_t>(row * 100 + i)};
            index->add(index->next_row(), 1, 1000, terms);
        }
        kept = index->maintain(1);
        if (row == 3)
            damage_files(home); // under its mapping, as a disk would
        if (!kept)
            break;
    }
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().sys, EUCLEAN);
    EXPECT_FALSE(index->sound());
}

// On a full disk nothing may stay that makes it fuller.
TEST(MemoryIndex, a_file_that_could_not_be_written_is_taken_away) {
    const TempHome home;
    std::filesystem::create_directory(home.file("index"));
    auto index = RankedIndex::open(home.file("index")).value();
    std::vector<std::uint64_t> terms(2000);
    for (std::size_t i = 0; i < terms.size(); ++i)
        terms[i] = i * 7919;
    index->add(1, 1, 1000, terms);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto refused = index->maintain(1);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(std::filesystem::is_empty(home.file("index")));
    ASSERT_TRUE(index->maintain(1)); // and later it works
    EXPECT_EQ(index->files(), 1U);
}

TEST(MemoryIndex, what_lies_in_the_place_of_its_folder_is_replaced) {
    const TempHome home;
    home.write("index", "no folder");
    EXPECT_TRUE(RankedIndex::open(home.file("index")));
    std::filesystem::remove_all(home.file("index"));
    std::filesystem::create_symlink("/nonexistent/place", home.file("index"));
    EXPECT_TRUE(RankedIndex::open(home.file("index")));
}

// A thousand turns and forgettings through the real program, killed and ended at random in between: what is
// searched is what was kept, word by word, and an index made from the text alone finds the same.
TEST(MemoryIndex, after_a_thousand_changes_with_kills_it_finds_what_a_new_one_finds) {
    namespace json = boost::json; // not ours: a second opinion
    const TempHome home;
    std::mt19937 random(7);
    std::map<std::string, std::string> kept; // word -> id
    std::set<std::string> forgotten;         // words
    int next = 0;
    for (int done = 0; done < 1000;) {
        test::MemoryProcess memory(home.path());
        const int until = std::min(1000, done + 40 + static_cast<int>(random() % 60));
        for (; done < until; ++done) {
            if (random() % 4 == 0 && !kept.empty()) {
                auto victim = std::next(kept.begin(), static_cast<std::ptrdiff_t>(random() % kept.size()));
                const auto gone = memory.call("memory.forget", {{"id", victim->second}});
                ASSERT_TRUE(gone.contains("result")) << json::serialize(gone);
                forgotten.insert(victim->first);
                kept.erase(victim);
                continue;
            }
            const auto own = word("qz", next++);
            const auto text = own + " " + word("gz", next % 40);
            // Each in a session of its own: neighbours in a conversation would be found along.
            const auto added = memory.call("memory.add", {{"text", text}, {"sessionId", "s" + own}});
            ASSERT_TRUE(added.contains("result")) << json::serialize(added);
            kept[own] = std::string(added.at("result").at("traceId").as_string());
        }
        if (random() % 3 != 0) {
            ::kill(memory.pid(), SIGKILL);
            EXPECT_EQ(memory.wait(), -SIGKILL);
        } else {
            memory.close_input();
            EXPECT_EQ(memory.wait(), 0);
        }
    }
    test::MemoryProcess memory(home.path());
    const auto found = [&](const std::string& text) {
        std::set<std::string> ids;
        const auto answer = memory.call("memory.search", {{"query", text}, {"topK", 100}});
        for (const auto& hit : answer.at("result").at("hits").as_array())
            ids.insert(std::string(hit.at("refId").as_string()));
        return ids;
    };
    const auto all = [&] {
        std::vector<std::set<std::string>> answers;
        for (int group = 0; group < 40; ++group)
            answers.push_back(found(word("gz", group)));
        return answers;
    };
    for (const auto& [own, id] : kept)
        ASSERT_EQ(found(own), std::set<std::string>{id}) << own;
    for (const auto& own : forgotten)
        ASSERT_TRUE(found(own).empty()) << own;
    const auto before = all();
    auto checked = memory.call("core.check");
    EXPECT_EQ(checked.at("result").at("searchIndex"), "sound") << json::serialize(checked);
    checked = memory.call("core.check", {{"rebuild", true}});
    EXPECT_EQ(checked.at("result").at("indexSound"), true);
    EXPECT_EQ(all(), before);
    EXPECT_EQ(memory.call("core.check").at("result").at("searchIndex"), "sound");
    memory.close_input();
    EXPECT_EQ(memory.wait(), 0);
}

} // namespace
} // namespace holdfast::memory
