// Memory in and out: nothing lost, nothing twice, and every bad line named.
#include "face.hpp"

#include "memory/store/sqlite.hpp"

#include <algorithm>
#include <cstring>

namespace holdfast::harness {

namespace {

using memory::Database;
using memory::OpenMode;

constexpr const char* everything =
    R"({"type":"session","id":"se_1","agent":"hermes","namespace":{"user":"ada"},"meta":{"k":[1,2]},"openedAt":1000,"closedAt":9000})"
    "\n"
    R"({"type":"episode","id":"ep_1","sessionId":"se_1","openedAt":1001,"closedAt":8000,"pendingUser":"half a question","turnKey":"t1","meta":{"r":0}})"
    "\n"
    R"({"type":"trace","id":"tr_1","episodeId":"ep_1","sessionId":"se_1","ts":2000,"kind":"turn","userText":"héllo — 日本語","agentText":"line\nline","summary":"s","tags":["a"],"toolCalls":[{"name":"x","input":{"y":null}}],"agentThinking":"hm","reflection":"r","value":-2.5E-1,"priority":7.5E-1,"turnId":"q7","meta":{"z":1}})"
    "\n"
    R"({"type":"trace","id":"tr_2","episodeId":"ep_1","sessionId":"se_1","ts":2000,"kind":"turn","userText":"héllo — 日本語","agentText":"line\nline","tags":[],"toolCalls":[{"name":"x","input":{"y":null}}],"value":0E0,"priority":5E-1,"turnId":2000})"
    "\n"
    R"({"type":"feedback","id":"fb_1","ts":3000,"traceId":"tr_1","episodeId":"ep_1","channel":"explicit","polarity":"negative","magnitude":1E0,"rationale":"no","raw":{"b":true}})"
    "\n"
    R"({"type":"policy","id":"po_1","title":"P","body":"b","status":"active","data":{"d":1},"createdAt":1,"updatedAt":2,"trials":0})"
    "\n"
    R"({"type":"worldModel","id":"wm_1","title":"W","body":"b","status":"active","createdAt":1,"updatedAt":2,"trials":0})"
    "\n"
    R"({"type":"skill","id":"sk_1","title":"S","body":"b","status":"archived","createdAt":1,"updatedAt":2,"trials":3})"
    "\n";

TEST_F(MemoryFace, what_is_exported_and_imported_is_the_same_line_for_line) {
    const auto lines = write("all.jsonl", everything);
    EXPECT_TRUE(memory({"import", lines}).status.exited_with(0));
    const auto first = memory({"export"}).out;
    EXPECT_EQ(first, everything); // also two traces of one text: they have two ids
    const auto out = file("out.jsonl");
    EXPECT_TRUE(memory({"export", out}).status.exited_with(0));
    EXPECT_EQ(read_file(out).value(), first);
    // Into another home.
    EXPECT_TRUE(memory({"import", out, "--home", file("other")}).status.exited_with(0));
    EXPECT_EQ(memory({"export", "--home", file("other")}).out, first);
    // A file that is there is not overwritten.
    EXPECT_TRUE(memory({"export", out}).status.exited_with(64));
    EXPECT_FALSE(std::filesystem::exists(out + ".part"));
}

TEST_F(MemoryFace, imported_twice_is_stored_once) {
    const auto lines = write("own.jsonl", std::string(everything) +
                                              "{\"ts\":5,\"userText\":\"no id\",\"agentText\":\"none\"}\n" +
                                              "{\"ts\":\"2026-05-01T10:00:00+02:00\",\"text\":\"a note\"}\n");
    const auto first = as_json({"import", lines});
    EXPECT_EQ(first.at("stored").as_int64(), 10);
    const auto before = memory({"export"}).out;
    const auto second = as_json({"import", lines});
    EXPECT_EQ(second.at("stored").as_int64(), 0);
    EXPECT_EQ(second.at("present").as_int64(), 10);
    EXPECT_EQ(memory({"export"}).out, before);
    EXPECT_NE(before.find("\"ts\":1777622400000"), std::string::npos) << before; // 08:00 UTC
}

TEST_F(MemoryFace, a_bad_line_stops_the_import_and_is_named) {
    const auto lines = write("bad.jsonl", "{\"ts\":1,\"text\":\"one\"}\n\n{\"ts\":2,\"text\":\"two\"}"
                                          "\nnonsense\n{\"ts\":3,\"text\":\"three\"}\n");
    const auto stopped = memory({"import", lines});
    EXPECT_TRUE(stopped.status.exited_with(65));
    EXPECT_NE(stopped.err.find("line 4: not JSON"), std::string::npos) << stopped.err;
    EXPECT_EQ(as_json({"status"}).at("health").at("counts").at("traces").as_int64(), 2);
    const auto skipped = memory({"import", lines, "--skip-bad", "--rejects", file("rejects")});
    EXPECT_TRUE(skipped.status.exited_with(0));
    EXPECT_NE(skipped.err.find("1 stored, 2 there already, 1 bad"), std::string::npos) << skipped.err;
    EXPECT_EQ(read_file(file("rejects")).value(), "nonsense\n");
}

TEST_F(MemoryFace, every_kind_of_bad_line_has_its_reason) {
    const std::vector<std::pair<std::string, std::string>> bad{
        {"[]", "a JSON object"},
        {"{}", "no type"},
        {R"({"type":"novel"})", "is not known"},
        {R"({"type":7})", "type must be a string"},
        {R"({"text":"x"})", "ts is missing"},
        {R"({"ts":"yesterday","text":"x"})", "milliseconds since 1970"},
        {R"({"ts":-1,"text":"x"})", "milliseconds since 1970"},
        {R"({"ts":1,"userText":5})", "userText must be a string"},
        {R"({"ts":1,"text":"x","tags":"y"})", "tags must be a list"},
        {R"({"ts":1,"userText":""})", "no text"},
        {R"({"type":"session"})", "id is missing"},
        {R"({"type":"episode","id":"e"})", "sessionId is missing"},
        {R"({"type":"feedback","ts":1,"channel":"explicit"})", "polarity is missing"},
        {R"({"type":"skill","id":"s"})", "title is missing"},
    };
    std::string all;
    for (const auto& [line, reason] : bad)
        all += line + "\n";
    const auto report = as_json({"import", write("bad.jsonl", all), "--skip-bad"});
    EXPECT_EQ(report.at("stored").as_int64(), 0);
    const auto& problems = report.at("problems").as_array();
    ASSERT_EQ(problems.size(), bad.size());
    for (std::size_t i = 0; i < bad.size(); ++i) {
        EXPECT_EQ(problems[i].at("line").as_int64(), static_cast<std::int64_t>(i + 1));
        EXPECT_NE(std::string(problems[i].at("reason").as_string()).find(bad[i].second), std::string::npos)
            << bad[i].first << ": " << problems[i].at("reason");
    }
}

TEST_F(MemoryFace, a_line_over_the_limit_is_skipped_to_its_end) {
    const auto lines = write("long.jsonl", "{\"ts\":1,\"text\":\"" + std::string(16 << 20, 'x') +
                                               "\"}\n{\"ts\":2,\"text\":\"after\"}\n");
    const auto report = as_json({"import", lines, "--skip-bad"});
    EXPECT_EQ(report.at("stored").as_int64(), 1);
    EXPECT_EQ(report.at("bad").as_int64(), 1);
    EXPECT_EQ(as_json({"search", "after"}).at("hits").as_array().size(), 1U);
}

TEST_F(MemoryFace, many_lines_come_from_stdin_in_batches_and_all_arrive) {
    std::string all;
    constexpr int count = 5000;
    for (int i = 0; i < count; ++i)
        all += "{\"ts\":" + std::to_string(1000 + i) + ",\"sessionId\":\"se_m\",\"userText\":\"number " +
               std::to_string(i) + "\"}\n";
    all.pop_back(); // the last line has no end
    const auto done = memory({"import", "-", "--json"}, all);
    EXPECT_TRUE(done.status.exited_with(0)) << done.err;
    EXPECT_EQ(as_json({"status"}).at("health").at("counts").at("traces").as_int64(), count);
    const auto lines = exported();
    EXPECT_EQ(std::ranges::count_if(
                  lines, [](const std::string& line) { return line.starts_with(R"({"type":"trace")"); }),
              count);
}

// The owner is killed in the middle: the import goes on with the next one, and every line is there once.
TEST_F(MemoryFace, an_import_survives_the_death_of_the_owner) {
    start_daemon();
    ASSERT_FALSE(HasFatalFailure());
    std::string all;
    constexpr int count = 12000;
    for (int i = 0; i < count; ++i)
        all += "{\"ts\":" + std::to_string(1000 + i) + ",\"sessionId\":\"se_m\",\"userText\":\"number " +
               std::to_string(i) + "\"}\n";
    auto spec = home.command({"memory", "import", write("many.jsonl", all), "--json"});
    auto importer = Child::spawn(spec);
    ASSERT_TRUE(importer);
    ASSERT_TRUE(eventually(Deadline::in(patience), [&] {
        return as_json({"status"}).at("health").at("counts").at("traces").as_int64() > 0;
    }));
    ASSERT_TRUE(daemon.kill());
    const auto end = importer->wait(Deadline::in(90s));
    ASSERT_TRUE(end);
    EXPECT_TRUE(end->exited_with(0));
    const auto report = importer->out().read_to_end(Deadline::in(patience));
    ASSERT_TRUE(report);
    EXPECT_NE(report->find("\"complete\":true"), std::string::npos) << *report;
    EXPECT_EQ(as_json({"status"}).at("health").at("counts").at("traces").as_int64(), count);
}

// A bridge's database as that program makes it: its own columns, some that mean nothing here, a vector, text
// that is not UTF-8.
std::string make_bridge(const std::string& path, bool complete = true) {
    auto database = Database::open(path, OpenMode::read_write_create).value();
    EXPECT_TRUE(database.exec(
        "CREATE TABLE sessions(id TEXT PRIMARY KEY, agent TEXT NOT NULL, owner_profile_id TEXT NOT NULL "
        "DEFAULT 'default',"
        " started_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL, meta_json TEXT NOT NULL DEFAULT '{}');"
        "CREATE TABLE episodes(id TEXT PRIMARY KEY, session_id TEXT NOT NULL, started_at INTEGER NOT NULL, "
        "ended_at INTEGER,"
        " trace_ids_json TEXT NOT NULL DEFAULT '[]', r_task REAL, status TEXT NOT NULL, meta_json TEXT NOT "
        "NULL DEFAULT '{}');"
        "INSERT INTO sessions VALUES('se_b','hermes','work',1000,5000,'{\"title\":\"t\"}');"
        "INSERT INTO episodes "
        "VALUES('ep_b','se_b',1500,4000,'[\"tr_b1\",\"tr_b2\"]',0.8,'closed','{\"topic\":\"x\"}');"));
    if (!complete)
        return path;
    EXPECT_TRUE(database.exec(
        "CREATE TABLE traces(id TEXT PRIMARY KEY, episode_id TEXT NOT NULL, session_id TEXT NOT NULL, ts "
        "INTEGER NOT NULL,"
        " user_text TEXT NOT NULL, agent_text TEXT NOT NULL, summary TEXT, tool_calls_json TEXT NOT NULL "
        "DEFAULT '[]',"
        " reflection TEXT, agent_thinking TEXT, value REAL NOT NULL DEFAULT 0, alpha REAL NOT NULL DEFAULT 0,"
        " priority REAL NOT NULL DEFAULT 0, tags_json TEXT NOT NULL DEFAULT '[]', error_signatures_json TEXT "
        "NOT NULL DEFAULT '[]',"
        " vec_summary BLOB, turn_id INTEGER NOT NULL);"
        "INSERT INTO traces VALUES('tr_b1','ep_b','se_b',2000,'where is the heron','in the reeds','heron',"
        " '[{\"name\":\"look\",\"input\":{}}]','good','thinking',1.5,0.25,0.5,'[\"birds\"]','[\"E1\"]',x'"
        "00ff00ff',2000);"
        "INSERT INTO traces VALUES('tr_b2','ep_b','se_b',3000,CAST(x'6869ff7468657265' AS "
        "TEXT),'','','[]',NULL,NULL,0,0,0,'[]','[]',NULL,2000);"
        "CREATE TABLE feedback(id TEXT PRIMARY KEY, ts INTEGER NOT NULL, episode_id TEXT, trace_id TEXT, "
        "channel TEXT NOT NULL,"
        " polarity TEXT NOT NULL, magnitude REAL NOT NULL, rationale TEXT, raw_json TEXT);"
        "INSERT INTO feedback "
        "VALUES('fb_b',4000,'ep_b','tr_b1','explicit','positive',1.0,'right','{\"s\":1}');"
        "CREATE TABLE skills(id TEXT PRIMARY KEY, name TEXT NOT NULL, status TEXT NOT NULL, invocation_guide "
        "TEXT NOT NULL,"
        " trials_attempted INTEGER NOT NULL, eta REAL, created_at INTEGER NOT NULL, updated_at INTEGER NOT "
        "NULL);"
        "INSERT INTO skills VALUES('sk_b','find birds','active','look in the reeds',4,0.5,100,200);"));
    return path;
}

TEST_F(MemoryFace, the_bridges_database_comes_over_whole_and_is_only_read) {
    const auto path = make_bridge(file("bridge.db"));
    const auto bytes = read_file(path).value();
    const auto report = as_json({"import", path});
    EXPECT_EQ(report.at("stored").as_int64(), 6);
    EXPECT_EQ(report.at("bad").as_int64(), 0);
    EXPECT_EQ(read_file(path).value(), bytes);
    EXPECT_EQ(as_json({"import", path}).at("present").as_int64(), 6);
    std::map<std::string, boost::json::object> lines;
    for (const auto& line : exported()) {
        auto object = boost::json::parse(line).as_object();
        lines[std::string(object.at("id").as_string())] = object;
    }
    ASSERT_EQ(lines.size(), 6U);
    EXPECT_EQ(lines["se_b"]["meta"].at("title"), "t");
    EXPECT_EQ(lines["se_b"]["meta"].at("bridge").at("owner_profile_id"), "work");
    EXPECT_EQ(lines["se_b"]["meta"].at("bridge").at("last_seen_at").as_int64(), 5000);
    EXPECT_EQ(lines["ep_b"]["closedAt"].as_int64(), 4000);
    EXPECT_EQ(lines["ep_b"]["meta"].at("topic"), "x");
    EXPECT_EQ(lines["ep_b"]["meta"].at("bridge").at("r_task").as_double(), 0.8);
    const auto& trace = lines["tr_b1"];
    EXPECT_EQ(trace.at("userText"), "where is the heron");
    EXPECT_EQ(trace.at("toolCalls").at(0).at("name"), "look");
    EXPECT_EQ(trace.at("tags").at(0), "birds");
    EXPECT_EQ(trace.at("agentThinking"), "thinking");
    EXPECT_EQ(trace.at("reflection"), "good");
    EXPECT_EQ(trace.at("value").to_number<double>(), 1); // cut to the range that values have here …
    EXPECT_EQ(trace.at("meta").at("bridge").at("value").as_double(), 1.5); // … and kept as it was
    EXPECT_EQ(trace.at("meta").at("bridge").at("error_signatures_json").at(0), "E1");
    EXPECT_EQ(lines["tr_b2"]["userText"],
              "hi\xef\xbf\xbdthere"); // what is not UTF-8 is marked, the rest is kept
    EXPECT_EQ(lines["tr_b2"]["turnId"], "2000");
    EXPECT_EQ(lines["fb_b"]["rationale"], "right");
    EXPECT_EQ(lines["sk_b"]["trials"].as_int64(), 4);
    EXPECT_EQ(as_json({"search", "heron"}).at("hits").at(0).at("refId"), "tr_b1");
}

TEST_F(MemoryFace, another_database_is_refused_and_says_why) {
    const auto path = make_bridge(file("half.db"), false);
    const auto done = memory({"import", path});
    EXPECT_FALSE(done.status.exited_with(0));
    EXPECT_NE(done.err.find("has no table \"traces\""), std::string::npos) << done.err;
}

// A store of our own that is damaged in the middle: what stands before and behind the damage comes over.
TEST_F(MemoryFace, a_damaged_store_gives_what_can_still_be_read) {
    std::string all;
    constexpr int count = 3000;
    for (int i = 0; i < count; ++i)
        all += "{\"ts\":" + std::to_string(1000 + i) + ",\"userText\":\"row " + std::to_string(i) + " " +
               std::string(300, 'x') + "\"}\n";
    ASSERT_TRUE(memory({"import", "-"}, all).status.exited_with(0));
    auto bytes = read_file(file("memory/data/memory.db")).value();
    const auto middle = bytes.find("row 1500 ");
    ASSERT_NE(middle, std::string::npos);
    std::memset(bytes.data() + middle / 4096 * 4096, 0xa5, 4096);
    const auto damaged = write("damaged.db", bytes);
    const auto report = memory({"import", damaged, "--home", file("rescued"), "--json"});
    EXPECT_FALSE(report.status.exited_with(0)); // it says that this was not all
    EXPECT_NE(report.err.find("damaged"), std::string::npos) << report.err;
    const auto stored =
        as_json({"status", "--home", file("rescued")}).at("health").at("counts").at("traces").as_int64();
    EXPECT_GT(stored, count - 200);
    EXPECT_LT(stored, count);
    EXPECT_EQ(
        as_json({"search", "row 2999", "--home", file("rescued"), "-n", "1"}).at("hits").as_array().size(),
        1U);
}

TEST_F(MemoryFace, secrets_are_taken_out_of_what_is_imported) {
    std::string secret = "ghp_"; // put together here, so that nobody takes it for a real one
    for (int i = 0; i < 36; ++i)
        secret += "aB3dE6gH9"[i % 9];
    const auto lines =
        write("secret.jsonl", R"({"ts":1,"text":"the token is )" + secret + R"( and stays so"})" + "\n");
    ASSERT_TRUE(memory({"import", lines}).status.exited_with(0));
    const auto stored = memory({"export"}).out;
    EXPECT_EQ(stored.find(secret), std::string::npos);
    EXPECT_NE(stored.find("the token is [redacted:"), std::string::npos) << stored;
}

} // namespace

} // namespace holdfast::harness
