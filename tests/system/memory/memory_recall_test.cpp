// Recall over a real store: what was stored is found, in order, by filters, after restarts and repairs.
#include "base/utf8.hpp"
#include "harness/eventually.hpp"
#include "memory/domain/feedback.hpp"
#include "memory/ids/ids.hpp"
#include "memory/recall/recall.hpp"
#include "memory/repository/rows.hpp"
#include "memory/text/letters.hpp"
#include "support/memory_home.hpp"
#include "support/memory_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

namespace holdfast::memory {
namespace {

using test::TempHome;

// A store with recall, opened and closed as the server does it.
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
    }
    ~Bench() {
        recall->close();
        store->close();
    }
    std::string add(const std::string& session_id, const std::string& text, std::int64_t ts,
                    const char* agent = "a") {
        const auto id = test::add_turn(*store, session_id, text, ts, agent);
        EXPECT_TRUE(id);
        return id.value_or("");
    }
    std::vector<std::string> ask(RecallQuery query) const {
        auto answer = recall->search(query);
        EXPECT_TRUE(answer);
        std::vector<std::string> ids;
        if (answer)
            for (const auto& hit : answer->hits)
                ids.push_back(hit.id);
        return ids;
    }
    std::vector<std::string> ask(const std::string& text) const {
        return ask(RecallQuery{.text = text, .now_ms = 1'700'000'000'000});
    }
    std::unique_ptr<Store> store;
    std::unique_ptr<Recall> recall;
};

TEST(MemoryRecall, finds_at_once_what_was_just_stored) {
    const TempHome home;
    Bench bench(home);
    for (int i = 0; i < 50; ++i) {
        const auto id = bench.add("se_a", "the word number" + std::to_string(i) + "x is here", i);
        const auto hits = bench.ask("number" + std::to_string(i) + "x");
        ASSERT_FALSE(hits.empty()) << i;
        EXPECT_EQ(hits.front(), id);
    }
}

TEST(MemoryRecall, a_neighbour_in_the_conversation_comes_along_and_a_stranger_does_not) {
    const TempHome home;
    Bench bench(home);
    bench.add("se_b", "something else entirely", 1);
    const auto question = bench.add("se_a", "where did you adopt the parrot?", 2);
    bench.add("se_b", "hum", 3); // the row between them
    const auto reply = bench.add("se_a", "at the old mill", 4);
    const auto hits = bench.ask("parrot");
    ASSERT_EQ(hits.size(), 2U);
    EXPECT_EQ(hits[0], question);
    EXPECT_EQ(hits[1], reply);
}

TEST(MemoryRecall, dates_feedback_and_copies_shape_the_order) {
    const TempHome home;
    Bench bench(home);
    constexpr std::int64_t day = 86'400'000;
    const std::int64_t may = 1'683'547'200'000; // 8 May 2023
    const auto first = bench.add("se_1", "we went hiking with the dog", may);
    const auto second = bench.add("se_2", "we went hiking with the cat", may + 40 * day);
    const RecallQuery in_may{.text = "hiking in May", .now_ms = may + 60 * day};
    const RecallQuery in_june{.text = "hiking in June", .now_ms = may + 60 * day};
    EXPECT_EQ(bench.ask(in_may).front(), first);
    EXPECT_EQ(bench.ask(in_june).front(), second);
    // Feedback decides between equals.
    const auto good = bench.add("se_3", "restart the printer spooler", may);
    const auto bad = bench.add("se_4", "restart the printer twice", may);
    ASSERT_TRUE(bench.store->write([&](WriteContext& context) -> Result<void> {
        for (const auto& [id, polarity] : {std::pair(good, "positive"), std::pair(bad, "negative")})
            if (auto added = domain::add_feedback(context, {.id = make_id("fb_"),
                                                            .trace_id = id,
                                                            .channel = "explicit",
                                                            .polarity = polarity,
                                                            .magnitude = 1,
                                                            .ts = may});
                !added)
                return added;
        return {};
    }));
    EXPECT_EQ(bench.ask("restart printer").front(), good);
    // A copy of a hit does not take the place of another hit.
    for (int i = 0; i < 3; ++i)
        bench.add("se_5" + std::to_string(i), "the launch code word is pelican island breakfast", may + i);
    const auto other =
        bench.add("se_6", "pelican feeding happens at noon near the harbour every day of the week", may);
    const auto hits = bench.ask("pelican");
    ASSERT_EQ(hits.size(), 4U);
    EXPECT_EQ(hits[1], other);
}

TEST(MemoryRecall, filters_hold) {
    const TempHome home;
    Bench bench(home);
    const auto mine = bench.add("se_a", "kettle one", 1000, "alice");
    const auto theirs = bench.add("se_b", "kettle two", 2000, "bob");
    EXPECT_EQ(bench.ask("kettle").size(), 2U);
    EXPECT_EQ(bench.ask(RecallQuery{.text = "kettle", .agent = "alice"}), std::vector{mine});
    EXPECT_EQ(bench.ask(RecallQuery{.text = "kettle", .from_ms = 1500}), std::vector{theirs});
    const auto session = (*find_session(**bench.store->reader(), "se_a"))->row;
    EXPECT_EQ(bench.ask(RecallQuery{.text = "kettle", .session_row = session}), std::vector{mine});
    EXPECT_TRUE(bench.ask(RecallQuery{.text = "kettle", .agent = "carol"}).empty());
}

// Many turns in one commit: a thousand commits of one take seconds.
std::vector<std::string> add_many(Bench& bench, const std::string& session_id, int count,
                                  const std::function<std::string(int)>& text, std::int64_t ts) {
    std::vector<std::string> ids;
    EXPECT_TRUE(bench.store->write([&](WriteContext& context) -> Result<void> {
        Session session{.id = session_id, .agent = "a", .opened_at = ts};
        if (auto added = add_session(context, session); !added)
            return added;
        Episode episode{.id = "ep_" + session_id, .session_row = session.row, .opened_at = ts};
        if (auto added = add_episode(context, episode); !added)
            return added;
        for (int i = 0; i < count; ++i) {
            Trace trace;
            trace.id = make_id("tr_");
            trace.session_row = session.row;
            trace.episode_row = episode.row;
            trace.ts = ts + i;
            trace.kind = "turn";
            trace.user_text = text(i);
            if (auto added = add_trace(context, trace); !added)
                return added;
            ids.push_back(trace.id);
        }
        return {};
    }));
    return ids;
}

TEST(MemoryRecall, what_was_said_once_is_found_beside_what_is_said_every_day) {
    const TempHome home;
    Bench bench(home);
    const auto once =
        bench.add("se_once", "Where do we keep the database backup? Copies of the database go to Zurich", 1);
    for (int i = 0; i < 121; ++i)
        bench.add("se_" + std::to_string(i),
                  "nightly database backup status? The database backup finished without errors.", 1000 + i);
    const auto hits = bench.ask("where is the database backup kept?");
    ASSERT_EQ(hits.size(), 10U);
    EXPECT_EQ(std::ranges::count(hits, once), 1);
    // Longer than what it asks for, it comes behind all of them, and the index is asked again.
    const auto rare = bench.add("se_rare",
                                "the parcel with the spare keys, the old maps, the camera, two ropes and a "
                                "lamp was left with the harbour master in the blue house behind the church",
                                1);
    add_many(bench, "se_many", 1500, [](int) { return "the parcel arrived"; }, 5000);
    const auto parcels = bench.ask("parcel");
    ASSERT_EQ(parcels.size(), 10U);
    EXPECT_EQ(parcels[1], rare);
}

TEST(MemoryRecall, filters_hold_in_a_store_where_thousands_fit_better) {
    const TempHome home;
    Bench bench(home);
    constexpr std::int64_t day = 86'400'000;
    const std::int64_t now = 1'700'000'000'000;
    const auto old = bench.add("se_x",
                               "the long story of how we came to deploy the first time, with all that went "
                               "wrong, who was called in the night and what was learned in the end",
                               now - 100 * day);
    add_many(bench, "se_many", 2600, [](int i) { return "deploy " + std::to_string(i); }, now - day);
    ASSERT_TRUE(bench.recall->wait_indexed(10'000));
    const auto episode = (*find_episode(**bench.store->reader(), "ep_se_x"))->row;
    const auto only = std::vector{old};
    EXPECT_EQ(bench.ask(RecallQuery{.text = "deploy", .now_ms = now, .episode_row = episode}), only);
    EXPECT_EQ(bench.ask(RecallQuery{.text = "deploy", .now_ms = now, .until_ms = now - 50 * day}), only);
    EXPECT_EQ(
        bench.ask(RecallQuery{
            .text = "deploy", .now_ms = now, .from_ms = now - 100 * day, .until_ms = now - 100 * day + 1}),
        only);
    EXPECT_TRUE(bench.ask(RecallQuery{.text = "deploy", .now_ms = now, .from_ms = now}).empty());
}

TEST(MemoryRecall, forgotten_and_changed_traces_are_not_found_as_they_were) {
    const TempHome home;
    Bench bench(home);
    const auto gone = bench.add("se_a", "a walrus", 1);
    const auto changed = bench.add("se_b", "a giraffe", 2);
    ASSERT_TRUE(bench.store->write([&](WriteContext& context) -> Result<void> {
        EXPECT_TRUE(delete_trace(context, gone).value());
        auto trace = find_trace(context.database, changed);
        (*trace)->user_text = "an okapi";
        return replace_text(context, **trace);
    }));
    EXPECT_TRUE(bench.ask("walrus").empty());
    EXPECT_TRUE(bench.ask("giraffe").empty());
    EXPECT_EQ(bench.ask("okapi"), std::vector{changed});
}

// A long text is searched as far as it is said to be, and its match is in view wherever it is.
TEST(MemoryRecall, a_match_late_in_a_long_text_is_found_and_shown) {
    const TempHome home;
    Bench bench(home);
    std::string filler;
    while (filler.size() < 60'000)
        filler += "the pump runs and the pump rests ";
    const auto add = [&](const std::string& session, const std::string& user, const std::string& agent,
                         const std::string& tool_calls) {
        ASSERT_TRUE(bench.store->write([&](WriteContext& context) -> Result<void> {
            Session owner{.id = session, .agent = "a", .opened_at = 1};
            if (auto added = add_session(context, owner); !added)
                return added;
            Episode episode{.id = "ep_" + session, .session_row = owner.row, .opened_at = 1};
            if (auto added = add_episode(context, episode); !added)
                return added;
            Trace trace;
            trace.id = "tr_" + session;
            trace.session_row = owner.row;
            trace.episode_row = episode.row;
            trace.ts = 1;
            trace.kind = "turn";
            trace.user_text = user;
            trace.agent_text = agent;
            trace.tool_calls = tool_calls;
            return add_trace(context, trace);
        }));
    };
    add("user", filler + "walrus €", "short", "");
    add("agent", filler + filler, filler.substr(0, 30'000) + " giraffe €", "");
    add("tool", filler + filler, filler, R"([{"name":"bash","input":"cat okapi.txt","output":"€"}])");
    add("far", filler + filler + "zebra", "", "");
    for (const auto& [word, id] :
         {std::pair("walrus", "tr_user"), std::pair("giraffe", "tr_agent"), std::pair("okapi", "tr_tool")}) {
        auto found = bench.recall->search(RecallQuery{.text = word, .now_ms = 1000});
        ASSERT_TRUE(found && !found->hits.empty()) << word;
        EXPECT_EQ(found->hits[0].id, id);
        EXPECT_NE(found->hits[0].snippet.find(word), std::string::npos) << found->hits[0].snippet;
        EXPECT_LT(found->hits[0].snippet.size(), 330U);
        const auto& snippet = found->hits[0].snippet;
        for (std::size_t at = 0; at < snippet.size();)
            EXPECT_NE(base::decode_utf8(snippet, at), 0xfffdU) << snippet;
    }
    EXPECT_TRUE(bench.ask("zebra").empty()) << "negative control: behind 64 KiB";
}

TEST(MemoryRecall, objects_are_of_no_session_and_of_their_time) {
    const TempHome home;
    Bench bench(home);
    const auto mine = bench.add("se_a", "the kettle", 1000);
    ASSERT_TRUE(bench.store->write([&](WriteContext& context) -> Result<void> {
        StoredObject skill{.id = "sk_1",
                           .kind = ObjectKind::skill,
                           .title = "kettle",
                           .body = "how to boil",
                           .status = "active",
                           .created_at = 5000,
                           .updated_at = 5000};
        return put_object(context, skill);
    }));
    bench.recall->objects_changed();
    const auto session = (*find_session(**bench.store->reader(), "se_a"))->row;
    const auto episode = (*find_episode(**bench.store->reader(), "ep_se_a"))->row;
    EXPECT_EQ(bench.ask("kettle").size(), 2U);
    EXPECT_EQ(bench.ask(RecallQuery{.text = "kettle", .session_row = session}), std::vector{mine});
    EXPECT_EQ(bench.ask(RecallQuery{.text = "kettle", .episode_row = episode}), std::vector{mine});
    EXPECT_EQ(bench.ask(RecallQuery{.text = "kettle", .agent = "a"}), std::vector{mine});
    EXPECT_EQ(bench.ask(RecallQuery{.text = "kettle", .until_ms = 5000}), std::vector{mine});
    EXPECT_EQ(bench.ask(RecallQuery{.text = "kettle", .from_ms = 5000}), std::vector<std::string>{"sk_1"});
    EXPECT_EQ(bench.ask(RecallQuery{.text = "kettle", .name_space = "n"}).size(), 2U) << "of all namespaces";
}

// How many documents of the index's files have the word, in English.
std::uint32_t in_files(const TempHome& home, const char* stem) {
    std::uint32_t documents = 0;
    for (const auto& entry : std::filesystem::directory_iterator(home.file("index")))
        if (entry.path().extension() == ".seg")
            if (auto segment = SegmentFile::open(entry.path()); segment) {
                EXPECT_TRUE((*segment)->sound());
                documents += (*segment)->find(word_term(stem, Language::english)).documents;
            }
    return documents;
}

TEST(MemoryRecall, the_words_of_what_was_forgotten_leave_the_files) {
    const TempHome home;
    std::vector<std::string> ids;
    {
        Bench bench(home);
        ids = add_many(
            bench, "se_a", 200,
            [](int i) { return i == 7 ? "a walrus sings" : "the pump number " + std::to_string(i); }, 1);
        ASSERT_TRUE(bench.recall->wait_indexed(10'000));
    }
    ASSERT_EQ(in_files(home, "walrus"), 1U);
    Bench bench(home);
    ASSERT_TRUE(bench.store->write([&](WriteContext& context) -> Result<void> {
        EXPECT_TRUE(delete_trace(context, ids[7]).value());
        return {};
    }));
    EXPECT_TRUE(bench.ask("walrus").empty());
    EXPECT_TRUE(harness::eventually(harness::Deadline::in(std::chrono::seconds(10)),
                                    [&] { return !home.exists("index/gone"); }));
    EXPECT_EQ(in_files(home, "walrus"), 0U);
    EXPECT_EQ(in_files(home, "pump"), 199U);
    EXPECT_TRUE(bench.ask("walrus").empty());
    EXPECT_EQ(bench.ask("pump 8").front(), ids[8]);
    EXPECT_EQ(bench.recall->index().documents(), 199U);
    // What is forgotten before it was in any file never comes into one.
    const auto young = bench.add("se_b", "a giraffe", 1000);
    EXPECT_EQ(bench.ask("giraffe"), std::vector{young});
    (void)add_many(bench, "se_c", 100, [](int i) { return "more pumps " + std::to_string(i); }, 2000);
    ASSERT_TRUE(bench.store->write([&](WriteContext& context) -> Result<void> {
        EXPECT_TRUE(delete_trace(context, young).value());
        return {};
    }));
    bench.recall->close();
    EXPECT_EQ(in_files(home, "giraff"), 0U);
    EXPECT_GT(in_files(home, "pump"), 199U);
}

TEST(MemoryRecall, the_index_survives_restarts_crashes_and_damage) {
    const TempHome home;
    std::vector<std::string> ids;
    {
        Bench bench(home);
        for (int i = 0; i < 200; ++i)
            ids.push_back(bench.add("se_a", "item unique" + std::to_string(i) + "q", i));
    }
    ASSERT_FALSE(std::filesystem::is_empty(home.file("index"))); // written at close
    {
        Bench bench(home);
        EXPECT_TRUE(bench.recall->index().sound());
        EXPECT_EQ(bench.recall->index().files(), 1U);
        EXPECT_EQ(bench.ask("unique17q").front(), ids[17]);
    }
    // Damage: a flipped byte in the header, garbage, a leftover of a crash. Each is replaced from the store.
    for (const auto& file : std::filesystem::directory_iterator(home.file("index"))) {
        std::fstream out(file.path(), std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(16);
        out.put('\x7f');
    }
    home.write("index/1-9.seg", "garbage");
    home.write("index/5-9.tmp", "half");
    {
        Bench bench(home);
        ASSERT_TRUE(bench.recall->wait_indexed(10'000));
        EXPECT_EQ(bench.ask("unique17q").front(), ids[17]);
        EXPECT_EQ(bench.recall->index().documents(), 200U);
        EXPECT_FALSE(home.exists("index/5-9.tmp"));
        bench.recall->rebuild();
        ASSERT_TRUE(bench.recall->wait_indexed(10'000));
        EXPECT_EQ(bench.ask("unique199q").front(), ids[199]);
    }
    // Files of another store: more rows than this one ever had.
    std::filesystem::remove(home.file("memory.db"));
    Bench bench(home);
    EXPECT_TRUE(bench.ask("unique17q").empty());
    EXPECT_EQ(bench.recall->index().documents(), 0U);
}

// As the index writes it, so that a file can be given another number and stay whole otherwise.
void set_format_number(const std::filesystem::path& path, char tens, char ones) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::array<std::uint64_t, 8> header{}; // the last word is the checksum of those before it
    file.read(reinterpret_cast<char*>(header.data()), sizeof header);
    auto* magic = reinterpret_cast<char*>(header.data());
    magic[6] = tens;
    magic[7] = ones;
    std::uint64_t sum = 0x243f6a8885a308d3ULL;
    const auto mix = [&](std::uint64_t word) {
        sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
        sum ^= sum >> 29;
    };
    for (std::size_t i = 0; i + 1 < header.size(); ++i)
        mix(header[i]);
    mix(0);
    header.back() = sum;
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(header.data()), sizeof header);
}

TEST(MemoryRecall, an_index_of_another_format_is_built_again_from_the_store) {
    const TempHome home;
    std::vector<std::string> ids;
    {
        Bench bench(home);
        for (int i = 0; i < 200; ++i)
            ids.push_back(bench.add("se_a", "item unique" + std::to_string(i) + "q", i));
    }
    const auto only_file = [&] { return *std::filesystem::directory_iterator(home.file("index")); };
    const auto begins_with = [&] { return TempHome::read_path(only_file().path().string()).substr(0, 8); };
    EXPECT_EQ(begins_with(), "hafseg04");
    set_format_number(only_file(), '0', '4'); // the same number: the file stays
    {
        Bench bench(home);
        EXPECT_EQ(bench.recall->index().files(), 1U);
    }
    set_format_number(only_file(), '0', '3');
    {
        Bench bench(home);
        EXPECT_EQ(bench.recall->index().files(), 0U);
        ASSERT_TRUE(bench.recall->wait_indexed(10'000));
        EXPECT_EQ(bench.recall->index().documents(), 200U);
        EXPECT_EQ(bench.ask("unique17q").front(), ids[17]);
    }
    EXPECT_EQ(begins_with(), "hafseg04");
}

struct Asked {
    const char* text;
    const char* question;
};

// One store with all of them: what is found must also come first.
TEST(MemoryRecall, short_questions_find_their_text_among_many_languages) {
    constexpr Asked table[] = {
        {"The door code is 4471", "door code"},
        {"My hat size is 58", "hat size"},
        {"The van insurance ends in June", "van insurance"},
        {"Tools live in the bin directory", "bin directory"},
        {"Coins were found at the dig site", "dig site"},
        {"El perro persigue a los gatos en la casa", "perro"},
        {"El perro persigue a los gatos en la casa", "gato"},
        {"Os meninos correram pela praia com os cachorros", "cachorros"},
        {"Il nonno raccoglie le olive con una scala", "nonno"},
        {"De kinderen spelen met de honden in het park", "honden"},
        {"Barnen leker med katterna i trädgården", "trädgården"},
        {"Wir haben die Fahrräder in die Werkstatt gebracht", "Fahrrad Werkstatt"},
        {"Il fait froid près de l'étang", "étang"},
        {"我的猫叫咪咪，很可爱", "猫"},
        {"冷蔵庫に卵があります", "卵"},
        {"새 집을 샀다", "집"},
    };
    const TempHome home;
    Bench bench(home);
    std::map<std::string, std::string> ids;
    for (const auto& [text, question] : table)
        if (!ids.contains(text))
            ids[text] = bench.add("se_" + std::to_string(ids.size()), text, 1000);
    for (const auto& [text, question] : table) {
        const auto hits = bench.ask(question);
        ASSERT_FALSE(hits.empty()) << question;
        EXPECT_EQ(hits.front(), ids[text]) << question;
    }
}

TEST(MemoryRecall, a_question_of_empty_words_and_a_date_finds_what_is_of_that_date) {
    const TempHome home;
    Bench bench(home);
    constexpr std::int64_t day = 86'400'000;
    const std::int64_t may = 1'683'547'200'000; // 8 May 2023
    const auto trail = bench.add("se_1", "Hiked the ridge trail", may);
    bench.add("se_2", "What did the doctor do in there", may + 120 * day);
    const auto fence = bench.add("se_3", "Painted the fence green", may + 190 * day); // a Tuesday
    const auto first = [&](const char* question) {
        const auto hits = bench.ask(RecallQuery{.text = question, .now_ms = may + 193 * day});
        return hits.empty() ? std::string() : hits.front();
    };
    for (const char* question : {"What did I do in May?", "what did i do in may", "qué hicimos en mayo",
                                 "what did we do in early May", "cosa abbiamo fatto a maggio"})
        EXPECT_EQ(first(question), trail) << question;
    for (const char* question : {"What did we do on Tuesday?", "what happened in the last 4 days"})
        EXPECT_EQ(first(question), fence) << question;
}

TEST(MemoryRecall, many_files_are_merged_and_every_document_is_still_found) {
    const TempHome home;
    auto index = RankedIndex::open(home.file("index")).value();
    constexpr int documents = 1000;
    for (int row = 1; row <= documents; ++row) {
        std::vector<std::uint64_t> terms = {static_cast<std::uint64_t>(row), 7'000'000, 7'000'000};
        index->add(row, 1, row * 1000, terms);
        if (row % 25 == 0) {
            ASSERT_TRUE(index->maintain(1));
        }
    }
    EXPECT_LT(index->files(), 16U); // 40 were written
    RankingOptions options;
    options.before.clear();
    options.after.clear();
    for (int pass = 0; pass < 2; ++pass) {
        EXPECT_TRUE(index->sound());
        EXPECT_EQ(index->documents(), static_cast<std::uint64_t>(documents));
        for (int row = 1; row <= documents; ++row) {
            const auto found = index->search({{static_cast<std::uint64_t>(row), 1, 0}}, options, {});
            ASSERT_FALSE(found.candidates.empty()) << row;
            EXPECT_EQ(found.candidates.front().row, row);
        }
        options.candidates = documents;
        EXPECT_EQ(index->search({{7'000'000, 1, 0}}, options, {}).candidates.size(), documents);
        index.reset();
        index = RankedIndex::open(home.file("index")).value();
    }
}

TEST(MemoryRecall, a_deadline_is_kept_and_said) {
    const TempHome home;
    Bench bench(home);
    bench.add("se_a", "needle", 1);
    auto late = bench.recall->search({.text = "needle", .deadline_us = monotonic_us() - 1});
    ASSERT_TRUE(late);
    EXPECT_TRUE(late->cut);
    auto early = bench.recall->search({.text = "needle", .deadline_us = monotonic_us() + 5'000'000});
    EXPECT_FALSE(early->cut);
    EXPECT_EQ(early->hits.size(), 1U);
}

// Drawn from traces with the same words, and beside them: what was drawn from them is in the answer as well.
TEST(MemoryRecall, an_object_that_fits_has_a_place_beside_many_traces_that_fit) {
    const TempHome home;
    Bench bench(home);
    for (int i = 0; i < 60; ++i)
        bench.add("se_" + std::to_string(i / 4),
                  "deploy the zeppelin service, attempt " + std::to_string(i) + " of the night", 1000 + i);
    for (int i = 0; i < 200; ++i)
        bench.add("se_z", "another matter number " + std::to_string(i), 2000 + i);
    const auto keep = [&](const char* id, ObjectKind kind, const char* title, const char* body) {
        ASSERT_TRUE(bench.store->write([&](WriteContext& context) {
            StoredObject object{.id = id,
                                .kind = kind,
                                .title = title,
                                .body = body,
                                .status = "active",
                                .created_at = 1,
                                .updated_at = 1};
            return put_object(context, object);
        }));
    };
    keep("sk_1", ObjectKind::skill, "Deploy the zeppelin service", "Run the canary first, then the rest.");
    keep("po_1", ObjectKind::policy, "Deploys", "Never deploy the zeppelin service on a Friday.");
    keep("wm_1", ObjectKind::world_model, "Garden",
         "The roses are behind the shed, which is another matter.");
    bench.recall->objects_changed();
    const auto hits = bench.ask("how do I deploy the zeppelin service?");
    ASSERT_EQ(hits.size(), 10U);
    EXPECT_EQ(std::ranges::count(hits, "sk_1"), 1);
    EXPECT_EQ(std::ranges::count(hits, "po_1"), 1);
    EXPECT_EQ(std::ranges::count(hits, "wm_1"), 0); // has no word of the question
}

TEST(MemoryRecall, skills_and_world_models_are_hits_of_their_tiers_until_archived) {
    const TempHome home;
    Bench bench(home);
    ASSERT_TRUE(bench.store->write([&](WriteContext& context) {
        StoredObject skill{.id = "sk_1",
                           .kind = ObjectKind::skill,
                           .title = "Deploy",
                           .body = "use the zeppelin script",
                           .status = "active",
                           .created_at = 1,
                           .updated_at = 1};
        return put_object(context, skill);
    }));
    bench.recall->objects_changed();
    auto answer = bench.recall->search({.text = "zeppelin"});
    ASSERT_EQ(answer->hits.size(), 1U);
    EXPECT_EQ(answer->hits[0].tier, 1);
    EXPECT_EQ(answer->hits[0].kind, "skill");
    ASSERT_TRUE(bench.store->write([&](WriteContext& context) -> Result<void> {
        EXPECT_TRUE(archive_object(context, ObjectKind::skill, "sk_1", 2).value());
        return {};
    }));
    bench.recall->objects_changed();
    EXPECT_TRUE(bench.recall->search({.text = "zeppelin"})->hits.empty());
}

} // namespace
} // namespace holdfast::memory
