// The database of an existing memory bridge, brought over: whole, only read, and whatever its make.
#include "face.hpp"

#include "memory/repository/connection.hpp"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace holdfast::harness {

namespace {

using memory::open_database;
using memory::OpenMode;

// A bridge's database with the columns that program's own has: whose it is in every table, how far it may be
// shared, numbers and lists that mean nothing here, vectors, a table of no interest, and text that is not
// UTF-8.
std::string make_bridge(const std::string& path, bool complete = true) {
    const std::string owner =
        " owner_agent_kind TEXT NOT NULL DEFAULT 'unknown', owner_profile_id TEXT NOT NULL"
        " DEFAULT 'default', owner_workspace_id TEXT,";
    const std::string shared = " share_scope TEXT DEFAULT 'private', share_target TEXT, shared_at INTEGER,";
    auto database = open_database(path, OpenMode::read_write_create).value();
    EXPECT_TRUE(database.exec(
        "CREATE TABLE schema_migrations(version INTEGER PRIMARY KEY, name TEXT, applied_at INTEGER) STRICT;"
        "CREATE TABLE sessions(id TEXT PRIMARY KEY, agent TEXT NOT NULL," +
        owner +
        " started_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL, meta_json TEXT NOT NULL DEFAULT '{}') "
        "STRICT;"
        "CREATE TABLE episodes(id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id)," +
        owner +
        " share_scope TEXT DEFAULT 'private', started_at INTEGER NOT NULL, ended_at INTEGER,"
        " trace_ids_json TEXT NOT NULL DEFAULT '[]', r_task REAL, status TEXT NOT NULL DEFAULT 'open',"
        " meta_json TEXT NOT NULL DEFAULT '{}') STRICT;"
        "INSERT INTO sessions VALUES('se_b','hermes','hermes','work',NULL,1000,5000,'{\"title\":\"t\"}');"
        "INSERT INTO episodes VALUES('ep_b','se_b','hermes','work',NULL,'private',1500,4000,"
        " '[\"tr_b1\",\"tr_b2\"]',0.8,'closed','{\"topic\":\"x\"}');"));
    if (!complete)
        return path;
    EXPECT_TRUE(database.exec(
        "CREATE TABLE traces(id TEXT PRIMARY KEY, episode_id TEXT NOT NULL, session_id TEXT NOT NULL," +
        owner +
        " ts INTEGER NOT NULL, user_text TEXT NOT NULL, agent_text TEXT NOT NULL, summary TEXT,"
        " tool_calls_json TEXT NOT NULL DEFAULT '[]', reflection TEXT, agent_thinking TEXT,"
        " value REAL NOT NULL DEFAULT 0, alpha REAL NOT NULL DEFAULT 0, r_human REAL, priority REAL NOT NULL "
        "DEFAULT 0,"
        " tags_json TEXT NOT NULL DEFAULT '[]', error_signatures_json TEXT NOT NULL DEFAULT '[]',"
        " vec_summary BLOB, vec_action BLOB," +
        shared +
        " turn_id INTEGER NOT NULL, schema_version INTEGER NOT NULL DEFAULT 1) STRICT;"
        "INSERT INTO "
        "traces(id,episode_id,session_id,ts,user_text,agent_text,summary,tool_calls_json,reflection,"
        " agent_thinking,value,alpha,priority,tags_json,error_signatures_json,vec_summary,turn_id)"
        " VALUES('tr_b1','ep_b','se_b',2000,'where is the heron','in the reeds','heron',"
        " '[{\"name\":\"look\",\"input\":{}}]','good','thinking',1.5,0.25,0.5,'[\"birds\"]','[\"E1\"]',"
        " x'00ff00ff',2000);"
        "INSERT INTO traces(id,episode_id,session_id,ts,user_text,agent_text,turn_id)"
        " VALUES('tr_b2','ep_b','se_b',3000,CAST(x'6869ff7468657265' AS TEXT),'',2000);"
        "CREATE TABLE feedback(id TEXT PRIMARY KEY," +
        owner +
        " ts INTEGER NOT NULL, episode_id TEXT, trace_id TEXT,"
        " channel TEXT NOT NULL, polarity TEXT NOT NULL, magnitude REAL NOT NULL DEFAULT 0, rationale TEXT,"
        " raw_json TEXT NOT NULL DEFAULT 'null') STRICT;"
        "INSERT INTO feedback(id,ts,episode_id,trace_id,channel,polarity,magnitude,rationale,raw_json)"
        " VALUES('fb_b',4000,'ep_b','tr_b1','explicit','positive',1.0,'right','{\"s\":1}'),"
        " ('fb_c',4100,'ep_b',NULL,'implicit','negative',0.5,NULL,'null');"
        "CREATE TABLE policies(id TEXT PRIMARY KEY," +
        owner +
        " title TEXT NOT NULL, trigger TEXT NOT NULL,"
        " procedure TEXT NOT NULL, verification TEXT NOT NULL, boundary TEXT NOT NULL, support INTEGER NOT "
        "NULL DEFAULT 0,"
        " gain REAL NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT 'candidate',"
        " source_episodes_json TEXT NOT NULL DEFAULT '[]', verifier_meta_json TEXT NOT NULL DEFAULT 'null', "
        "vec BLOB,"
        " created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL," +
        shared +
        " edited_at INTEGER) STRICT;"
        "INSERT INTO policies(id,title,trigger,procedure,verification,boundary,status,created_at,updated_at)"
        " VALUES('po_b','wading birds','a bird at water','look in the "
        "reeds','seen','lakes','active',100,200);"
        "CREATE TABLE world_model(id TEXT PRIMARY KEY," +
        owner +
        " title TEXT NOT NULL, body TEXT NOT NULL,"
        " policy_ids_json TEXT NOT NULL DEFAULT '[]', structure_json TEXT NOT NULL DEFAULT '{}',"
        " confidence REAL NOT NULL DEFAULT 0.5, vec BLOB, created_at INTEGER NOT NULL, updated_at INTEGER "
        "NOT NULL," +
        shared +
        " edited_at INTEGER, status TEXT NOT NULL DEFAULT 'active', archived_at INTEGER,"
        " version INTEGER NOT NULL DEFAULT 1) STRICT;"
        "INSERT INTO world_model(id,title,body,status,created_at,updated_at,archived_at)"
        " VALUES('wm_b','the lake','herons live here','archived',100,300,300);"
        "CREATE TABLE skills(id TEXT PRIMARY KEY," +
        owner +
        " name TEXT NOT NULL, status TEXT NOT NULL,"
        " invocation_guide TEXT NOT NULL, procedure_json TEXT NOT NULL DEFAULT 'null', eta REAL NOT NULL "
        "DEFAULT 0,"
        " trials_attempted INTEGER NOT NULL DEFAULT 0, trials_passed INTEGER NOT NULL DEFAULT 0, vec BLOB,"
        " created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 1," +
        shared +
        " edited_at INTEGER, usage_count INTEGER NOT NULL DEFAULT 0, last_used_at INTEGER) STRICT;"
        "INSERT INTO "
        "skills(id,name,status,invocation_guide,trials_attempted,trials_passed,eta,created_at,updated_at)"
        " VALUES('sk_b','find birds','active','look in the reeds',4,3,0.5,100,200);"
        "CREATE TABLE kv(key TEXT PRIMARY KEY, value_json TEXT NOT NULL, updated_at INTEGER NOT NULL) STRICT;"
        "INSERT INTO kv VALUES('installed','1',1);"));
    return path;
}

TEST_F(MemoryFace, the_bridges_database_comes_over_whole_and_is_only_read) {
    const auto path = make_bridge(file("bridge.db"));
    const auto bytes = read_file(path).value();
    const auto report = as_json({"import", path});
    EXPECT_EQ(report.at("stored").as_int64(), 9);
    EXPECT_EQ(report.at("bad").as_int64(), 0);
    EXPECT_EQ(read_file(path).value(), bytes);
    EXPECT_EQ(as_json({"import", path}).at("present").as_int64(), 9);
    std::map<std::string, boost::json::object> lines;
    for (const auto& line : exported()) {
        auto object = boost::json::parse(line).as_object();
        lines[std::string(object.at("id").as_string())] = object;
    }
    ASSERT_EQ(lines.size(), 9U);
    EXPECT_EQ(lines["se_b"]["agent"], "hermes");
    EXPECT_EQ(lines["se_b"]["openedAt"].as_int64(), 1000);
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
    EXPECT_EQ(lines["tr_b2"]["turnId"], 2000);
    EXPECT_EQ(lines["fb_b"]["rationale"], "right");
    EXPECT_EQ(lines["fb_b"]["traceId"], "tr_b1");
    EXPECT_EQ(lines["fb_c"]["polarity"], "negative");
    EXPECT_EQ(lines["po_b"]["body"], "look in the reeds");
    EXPECT_EQ(lines["po_b"]["data"].at("bridge").at("boundary"), "lakes");
    EXPECT_EQ(lines["wm_b"]["body"], "herons live here");
    EXPECT_EQ(lines["wm_b"]["status"], "archived");
    EXPECT_EQ(lines["sk_b"]["title"], "find birds");
    EXPECT_EQ(lines["sk_b"]["trials"].as_int64(), 4);
    EXPECT_EQ(as_json({"search", "heron"}).at("hits").at(0).at("refId"), "tr_b1");
}

TEST_F(MemoryFace, secrets_in_a_bridges_tool_calls_stay_there) {
    const auto path = make_bridge(file("bridge.db"));
    {
        auto database = open_database(path, OpenMode::read_write_create).value();
        ASSERT_TRUE(database.exec(
            R"(UPDATE traces SET tool_calls_json='[{"name":"env","output":"A=1\nghp_0123456789abcdefghijABCDEFGHIJ012345"}]',)"
            R"( error_signatures_json='["x\nghp_0123456789abcdefghijABCDEFGHIJ012345"]' WHERE id='tr_b1')"));
    }
    ASSERT_TRUE(memory({"import", path}).status.exited_with(0));
    const auto out = memory({"export"}).out;
    EXPECT_EQ(out.find("0123456789abcdefghij"), std::string::npos) << out;
    EXPECT_NE(out.find(R"("output":"A=1\n[redacted:github-token]")"), std::string::npos) << out;
}

// An older or a younger bridge: columns that are missing, or hold something else than here, cost only
// themselves.
TEST_F(MemoryFace, a_bridge_with_other_columns_comes_over_as_far_as_it_goes) {
    const auto path = file("old.db");
    {
        auto database = open_database(path, OpenMode::read_write_create).value();
        ASSERT_TRUE(database.exec(
            "CREATE TABLE traces(id INTEGER PRIMARY KEY, session_id TEXT, user_text, agent_text,"
            " tool_calls_json TEXT, tags_json TEXT, value, created_at);"
            "INSERT INTO traces VALUES(7,'se_o','an egret',NULL,'{\"name\":\"look\"}','no list','much',6000);"
            "INSERT INTO traces VALUES(8,'se_o',42,'a spoonbill',NULL,'[\"x\"]',0.5,'1794803777335');"
            "INSERT INTO traces VALUES(9,'se_o','no time at all','',NULL,NULL,NULL,NULL);"
            "CREATE TABLE feedback(id TEXT, ts INTEGER, rationale TEXT);"
            "INSERT INTO feedback VALUES('fb_o',5,'so so');"));
    }
    const auto report = as_json({"import", path, "--skip-bad"});
    EXPECT_EQ(report.at("stored").as_int64(), 3);
    ASSERT_EQ(report.at("problems").as_array().size(), 1U);
    EXPECT_NE(report.at("problems").at(0).at("reason").as_string().find("ts is missing"), std::string::npos);
    std::map<std::string, boost::json::object> lines;
    for (const auto& line : exported()) {
        auto object = boost::json::parse(line).as_object();
        lines[std::string(object.at("id").as_string())] = object;
    }
    EXPECT_EQ(lines["7"]["userText"], "an egret");
    EXPECT_EQ(lines["7"]["ts"].as_int64(), 6000);
    EXPECT_EQ(lines["7"]["meta"].at("bridge").at("tool_calls_json").at("name"), "look");
    EXPECT_EQ(lines["7"]["meta"].at("bridge").at("tags_json"), "no list");
    EXPECT_EQ(lines["7"]["meta"].at("bridge").at("value"), "much");
    EXPECT_EQ(lines["8"]["userText"], "42");
    EXPECT_EQ(lines["8"]["ts"].as_int64(), 1794803777335);
    EXPECT_EQ(lines["8"]["tags"].at(0), "x");
    EXPECT_EQ(lines["fb_o"]["polarity"], "neutral");
    EXPECT_TRUE(lines.contains("se_o")) << "a session that is only named is made";
}

// A folder in which nothing can be written, not even by root.
class ReadOnlyFolder {
public:
    explicit ReadOnlyFolder(std::string path)
        : path_(std::move(path)) {
        ::chmod(path_.c_str(), 0500);
        mounted_ = ::mount(path_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
                   ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
    }
    ReadOnlyFolder(const ReadOnlyFolder&) = delete;
    ReadOnlyFolder& operator=(const ReadOnlyFolder&) = delete;
    ~ReadOnlyFolder() {
        if (mounted_)
            ::umount2(path_.c_str(), MNT_DETACH);
        ::chmod(path_.c_str(), 0700);
    }
    [[nodiscard]] bool holds() const { return ::access(path_.c_str(), W_OK) != 0; }

private:
    std::string path_;
    bool mounted_ = false;
};

// SQLite wants files beside a database, and cannot make them there.
TEST_F(MemoryFace, a_bridge_in_a_place_without_write_access_is_read_as_it_lies_there) {
    const auto folder = file("media");
    std::filesystem::create_directory(folder);
    const auto path = make_bridge(folder + "/a bridge? 100%.db");
    {
        auto database = open_database(path, OpenMode::read_write).value();
        ASSERT_TRUE(database.exec("PRAGMA journal_mode=WAL"));
    }
    {
        const ReadOnlyFolder media(folder);
        if (!media.holds())
            GTEST_SKIP() << "root without the right to mount can write everywhere";
        EXPECT_EQ(as_json({"import", path}).at("stored").as_int64(), 9);
    }
    // With a log beside it that would be half of it: this is not for guessing.
    ASSERT_TRUE(write_file(path + "-wal", std::string(5000, 'x')));
    const ReadOnlyFolder media(folder);
    const auto refused = memory({"import", path});
    EXPECT_FALSE(refused.status.exited_with(0));
    EXPECT_NE(refused.err.find("copy both into a folder of yours"), std::string::npos) << refused.err;
}

TEST_F(MemoryFace, a_bridge_in_any_encoding_and_of_any_make_comes_over) {
    const auto bridge = [&](const std::string& name, const std::string& sql) {
        auto database = open_database(file(name), OpenMode::read_write_create);
        ASSERT_TRUE(database) << database.error().message;
        const auto made = database->exec(sql);
        ASSERT_TRUE(made) << made.error().message;
    };
    const std::string columns =
        "traces(id TEXT PRIMARY KEY, ts INTEGER, user_text TEXT, value REAL, vec BLOB)";
    bridge("utf16.db", "PRAGMA encoding='UTF-16le'; CREATE TABLE " + columns +
                           "; INSERT INTO traces VALUES('tr_1', 1, 'héllo 日本語', 0.5, x'00ff')");
    bridge("norowid.db",
           "CREATE TABLE " + columns +
               " WITHOUT ROWID; INSERT INTO traces VALUES('tr_2', 2, 'its own order', 0.5, NULL)");
    bridge("odd.db", "CREATE TABLE " + columns +
                         "; INSERT INTO traces VALUES('tr_3', 3, CAST('as bytes' AS BLOB), 9e999, x'01')");
    for (const auto* name : {"utf16.db", "norowid.db", "odd.db"})
        EXPECT_TRUE(memory({"import", file(name)}).status.exited_with(0)) << name;
    EXPECT_EQ(as_json({"show", "tr_1"}).at("userText"), "héllo 日本語");
    EXPECT_EQ(as_json({"show", "tr_2"}).at("userText"), "its own order");
    const auto odd = as_json({"show", "tr_3"});
    EXPECT_EQ(odd.at("userText"), "as bytes");
    EXPECT_EQ(odd.at("meta").at("bridge").at("value"), "Inf");
    EXPECT_FALSE(odd.at("meta").at("bridge").as_object().contains("vec"));
}

TEST_F(MemoryFace, another_database_is_refused_and_says_why) {
    const auto path = make_bridge(file("half.db"), false);
    const auto done = memory({"import", path});
    EXPECT_FALSE(done.status.exited_with(0));
    EXPECT_NE(done.err.find("has no table \"traces\""), std::string::npos) << done.err;
}

} // namespace

} // namespace holdfast::harness
