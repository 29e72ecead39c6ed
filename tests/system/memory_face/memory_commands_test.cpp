// The commands, as typed: what they print, how they exit, and that they never write beside a living owner.
#include "face.hpp"

#include <csignal>

namespace holdfast::harness {

namespace {

TEST_F(MemoryFace, a_note_is_found_again) {
    const auto added =
        memory({"add", "The", "staging", "database", "listens", "on", "port", "5433", "--tag", "infra"});
    EXPECT_TRUE(added.status.exited_with(0)) << added.err;
    EXPECT_TRUE(added.out.starts_with("tr_")) << added.out;
    const auto found = memory({"search", "where", "is", "the", "database"});
    EXPECT_TRUE(found.status.exited_with(0));
    EXPECT_NE(found.out.find("port 5433"), std::string::npos) << found.out;
    EXPECT_TRUE(found.out.starts_with("WHEN")) << found.out;
    const auto none = memory({"search", "zebra"});
    EXPECT_TRUE(none.status.exited_with(0));
    EXPECT_EQ(none.out, "");
    EXPECT_NE(none.err.find("nothing found"), std::string::npos);
}

TEST_F(MemoryFace, a_note_may_come_from_stdin) {
    const auto added = memory({"add", "--json"}, "first line\nsecond line about herons\n");
    EXPECT_TRUE(added.status.exited_with(0)) << added.err;
    const auto hits = as_json({"search", "herons"}).at("hits").as_array();
    ASSERT_EQ(hits.size(), 1U);
    EXPECT_EQ(hits[0].at("sessionId"), "se_notes");
    EXPECT_TRUE(memory({"add"}, "").status.exited_with(64));
}

TEST_F(MemoryFace, what_stands_in_a_note_does_not_steer_the_terminal) {
    ASSERT_TRUE(memory({"add"}, "red \x1b[31m alert\nnext line").status.exited_with(0));
    const auto found = memory({"search", "alert"});
    EXPECT_EQ(found.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(std::ranges::count(found.out, '\n'), 2) << found.out; // the header and one row
}

TEST_F(MemoryFace, status_says_who_serves_and_changes_nothing_where_nothing_is) {
    const auto before = memory({"status"});
    EXPECT_TRUE(before.status.exited_with(3));
    EXPECT_FALSE(std::filesystem::exists(file("memory")));
    ASSERT_TRUE(memory({"add", "one"}).status.exited_with(0));
    const auto alone = memory({"status"});
    EXPECT_TRUE(alone.status.exited_with(3));
    EXPECT_NE(alone.out.find("1 trace in 1 episode of 1 session,"), std::string::npos) << alone.out;
    start_daemon();
    ASSERT_FALSE(HasFatalFailure());
    const auto served = as_json({"status"});
    EXPECT_EQ(served.at("owner").at("pid").as_int64(), daemon.pid());
    EXPECT_EQ(served.at("health").at("pid").as_int64(), daemon.pid());
    EXPECT_TRUE(served.at("viewer").is_null());
}

// The owner's epoch is raised by whoever opens the store to write: it must stay while commands come and go.
TEST_F(MemoryFace, with_a_living_owner_every_command_goes_through_it) {
    start_daemon();
    ASSERT_FALSE(HasFatalFailure());
    const auto epoch = as_json({"status"}).at("health").at("epoch");
    ASSERT_TRUE(memory({"add", "the owner stores this"}).status.exited_with(0));
    EXPECT_EQ(as_json({"search", "owner"}).at("hits").as_array().size(), 1U);
    EXPECT_TRUE(memory({"check"}).status.exited_with(0));
    const auto lines = write("two.jsonl", "{\"ts\":1,\"text\":\"a\"}\n{\"ts\":2,\"text\":\"b\"}\n");
    EXPECT_TRUE(memory({"import", lines}).status.exited_with(0));
    EXPECT_EQ(exported().size(), 3U + 4U); // three traces, two sessions, two episodes at least
    const auto after = as_json({"status"});
    EXPECT_EQ(after.at("health").at("epoch"), epoch);
    EXPECT_EQ(after.at("owner").at("pid").as_int64(), daemon.pid());
    // Control: without the owner a command opens the store itself, and raises the epoch.
    ASSERT_TRUE(daemon.signal(SIGTERM));
    ASSERT_TRUE(daemon.wait(Deadline::in(patience)));
    EXPECT_GT(as_json({"status"}).at("health").at("epoch").as_int64(), epoch.as_int64());
}

TEST_F(MemoryFace, check_reports_a_sound_store_and_repairs_its_index) {
    ASSERT_TRUE(memory({"add", "sound"}).status.exited_with(0));
    const auto report = as_json({"check"});
    EXPECT_TRUE(report.at("sound").as_bool());
    EXPECT_TRUE(report.at("indexSound").as_bool());
    const auto rebuilt = memory({"check", "--rebuild-index"});
    EXPECT_TRUE(rebuilt.status.exited_with(0));
    EXPECT_EQ(as_json({"search", "sound"}).at("hits").as_array().size(), 1U);
}

TEST_F(MemoryFace, wrong_words_exit_64_and_name_the_way_out) {
    for (const auto& words : std::vector<std::vector<std::string>>{{"frobnicate"},
                                                                   {"search"},
                                                                   {"search", "x", "--limit", "0"},
                                                                   {"search", "x", "-n", "many"},
                                                                   {"serve", "--port", "70000"},
                                                                   {"serve", "--port", "1", "--no-viewer"},
                                                                   {"daemon", "--idle", "15"},
                                                                   {"import", "x", "--rejects", "y"},
                                                                   {"status", "--colour"}}) {
        const auto done = memory(words);
        EXPECT_TRUE(done.status.exited_with(64)) << words[0] << ": " << done.err;
        EXPECT_TRUE(done.err.starts_with("holdfast: ")) << done.err;
    }
}

TEST_F(MemoryFace, an_idle_daemon_leaves_by_itself) {
    auto spec = home.command({"memory", "daemon", "--no-viewer", "--idle", "300ms"});
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    const auto end = child->wait(Deadline::in(patience));
    ASSERT_TRUE(end) << "it stayed";
    EXPECT_TRUE(end->exited_with(0));
}

TEST_F(MemoryFace, a_missing_program_is_said) {
    auto spec = home.command({"memory", "search", "x"});
    spec.env.emplace_back("HOLDFAST_MEMORY=/nowhere/holdfast-memory");
    const auto done = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->status.exited_with(127));
    EXPECT_NE(done->err.find("/nowhere/holdfast-memory"), std::string::npos);
}

TEST_F(MemoryFace, help_manual_and_completion_know_every_command) {
    const auto manual = home.run({"manual"});
    const auto bash = home.run({"completion", "bash"});
    const auto fish = home.run({"completion", "fish"});
    const auto zsh = home.run({"completion", "zsh"});
    ASSERT_TRUE(manual && bash && fish && zsh);
    const auto overview = memory({"--help"});
    EXPECT_TRUE(overview.status.exited_with(0));
    for (const std::string name :
         {"serve", "daemon", "mcp", "search", "add", "export", "import", "check", "status"}) {
        EXPECT_NE(overview.out.find("\n  " + name + " "), std::string::npos) << name;
        EXPECT_NE(manual->out.find("holdfast memory " + name), std::string::npos) << name;
        EXPECT_NE(bash->out.find("\"memory " + name + "\""), std::string::npos) << name;
        EXPECT_NE(fish->out.find("from memory; and __fish_seen_subcommand_from " + name), std::string::npos)
            << name;
        EXPECT_NE(zsh->out.find("\"memory " + name + "\")"), std::string::npos) << name;
        const auto help = memory({name, "--help"});
        EXPECT_TRUE(help.status.exited_with(0)) << name;
        EXPECT_TRUE(help.out.starts_with("usage: holdfast memory " + name)) << help.out;
    }
    // The shell itself: what it offers.
    auto spec = home.command({});
    spec.argv = {
        "bash", "-c",
        bash->out +
            "\nCOMP_WORDS=(holdfast memory im); COMP_CWORD=2; _holdfast; echo \"${COMPREPLY[@]}\"\n"
            "COMP_WORDS=(holdfast memory search --lim); COMP_CWORD=3; _holdfast; echo \"${COMPREPLY[@]}\"\n"};
    const auto offered = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(offered);
    EXPECT_EQ(offered->out, "import\n--limit\n");
}

} // namespace

} // namespace holdfast::harness
