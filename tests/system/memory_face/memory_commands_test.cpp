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
    // Two words of which one is empty in Dutch.
    ASSERT_TRUE(memory({"add", "The door code is 4471"}).status.exited_with(0));
    EXPECT_NE(memory({"search", "door", "code"}).out.find("4471"), std::string::npos);
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
    EXPECT_TRUE(memory({"add", "   "}).status.exited_with(64));
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
    EXPECT_EQ(as_json({"status"}).at("health").at("epoch"), epoch) << "status only reads";
    ASSERT_TRUE(memory({"search", "owner"}).status.exited_with(0));
    EXPECT_GT(as_json({"status"}).at("health").at("epoch").as_int64(), epoch.as_int64());
}

// Every file of the home with its size, its time and its content.
std::string picture_of(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file())
            files.push_back(entry.path().string() + " " +
                            std::to_string(entry.last_write_time().time_since_epoch().count()) + " " +
                            std::to_string(std::hash<std::string>()(read_file(entry.path()).value_or(""))));
    std::ranges::sort(files);
    std::string all;
    for (const auto& file : files)
        all += file + "\n";
    return all;
}

TEST_F(MemoryFace, G11_truth_status_reads_and_changes_nothing) {
    ASSERT_TRUE(memory({"add", "one"}).status.exited_with(0));
    auto before = picture_of(file("memory"));
    const auto alone = as_json({"status"});
    EXPECT_EQ(alone.at("health").at("phase"), "closed");
    EXPECT_EQ(alone.at("health").at("counts").at("traces"), 1);
    EXPECT_EQ(picture_of(file("memory")), before);
    // The log of an owner that was killed is part of what there is, and stays for the next owner.
    start_daemon();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(as_json({"status"}).at("owner").at("status"), "ready") << "not the last step of its start";
    ASSERT_TRUE(memory({"add", "two"}).status.exited_with(0));
    ASSERT_TRUE(daemon.kill());
    ASSERT_GT(std::filesystem::file_size(file("memory/data/memory.db-wal")), 0U);
    before = picture_of(file("memory"));
    EXPECT_EQ(as_json({"status"}).at("health").at("counts").at("traces"), 2);
    EXPECT_EQ(picture_of(file("memory")), before);
    // Control: who opens it to read what is in it becomes its owner for as long.
    ASSERT_TRUE(memory({"search", "two"}).status.exited_with(0));
    EXPECT_NE(picture_of(file("memory")), before);
}

TEST_F(MemoryFace, G11_truth_status_says_that_the_owner_is_stopped_and_leaves_it_so) {
    start_daemon();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(memory({"add", "one"}).status.exited_with(0));
    ASSERT_TRUE(daemon.signal(SIGSTOP));
    ASSERT_TRUE(eventually(Deadline::in(patience),
                           [&] { return as_json({"status"}).at("health").at("phase") == "stopped"; }));
    const auto shown = memory({"status"});
    EXPECT_TRUE(shown.status.exited_with(0));
    EXPECT_NE(shown.out.find("process " + std::to_string(daemon.pid()) + ", stopped, for "),
              std::string::npos)
        << shown.out;
    EXPECT_NE(shown.out.find("1 trace in 1 episode"), std::string::npos) << shown.out;
    EXPECT_EQ(as_json({"status"}).at("owner").at("stopped"), true);
    // Who needs an answer continues it, and says so.
    const auto found = memory({"search", "one"});
    EXPECT_TRUE(found.status.exited_with(0));
    EXPECT_NE(found.out.find("one"), std::string::npos);
    EXPECT_NE(found.err.find("was continued"), std::string::npos) << found.err;
    EXPECT_EQ(as_json({"status"}).at("health").at("phase"), "ready");
}

TEST_F(MemoryFace, readers_make_no_memory_where_there_is_none) {
    std::filesystem::create_directories(file("empty"));
    for (const auto* place : {"typo", "empty"})
        for (const std::vector<std::string>& words : {std::vector<std::string>{"check"},
                                                      {"status"},
                                                      {"search", "x"},
                                                      {"export", file("backup.jsonl")}}) {
            auto with_home = words;
            with_home.insert(with_home.end(), {"--home", file(place)});
            const auto done = memory(with_home);
            EXPECT_TRUE(done.status.exited_with(3)) << words[0] << ": " << done.err;
            EXPECT_NE(done.err.find("there is no memory at " + file(place)), std::string::npos) << done.err;
        }
    EXPECT_FALSE(std::filesystem::exists(file("typo")));
    EXPECT_TRUE(std::filesystem::is_empty(file("empty")));
    EXPECT_FALSE(std::filesystem::exists(file("backup.jsonl")));
    EXPECT_FALSE(std::filesystem::exists(file("backup.jsonl.part")));
}

TEST_F(MemoryFace, check_of_a_database_that_is_none_any_more_exits_65_and_names_where_it_is_kept) {
    ASSERT_TRUE(memory({"add", "one"}).status.exited_with(0));
    std::filesystem::resize_file(file("memory/data/memory.db"), 9000);
    const auto told = memory({"status"});
    EXPECT_NE(told.out.find("cannot be read"), std::string::npos) << told.out;
    const auto checked = memory({"check"});
    EXPECT_TRUE(checked.status.exited_with(65)) << checked.err;
    EXPECT_EQ(checked.out.find("sound"), std::string::npos) << checked.out;
    EXPECT_NE(checked.err.find("holdfast memory import " + file("memory/data/memory.db.corrupt-")),
              std::string::npos)
        << checked.err;
    // The new one is sound; where the old one lies is said as long as it lies there.
    const auto again = memory({"check"});
    EXPECT_TRUE(again.status.exited_with(0)) << again.err;
    EXPECT_NE(again.out.find("memory.db.corrupt-"), std::string::npos) << again.out;
}

TEST_F(MemoryFace, the_program_itself_says_what_it_takes) {
    const auto run = [&](std::vector<std::string> words) {
        auto spec = home.command({});
        spec.argv = std::move(words);
        spec.argv.insert(spec.argv.begin(), bin_dir() + "/holdfast-memory");
        auto done = run_to_end(spec, Deadline::in(patience));
        EXPECT_TRUE(done);
        return done ? std::move(*done) : Finished{};
    };
    const auto help = run({"--help"});
    EXPECT_TRUE(help.status.exited_with(0));
    for (const char* flag : {"--agent=", "--home=", "--runtime-scope=", "--port=", "--no-viewer",
                             "--max-line=", "--no-progress", "--mcp", "--daemon", "--idle=", "--version"})
        EXPECT_NE(help.out.find(flag), std::string::npos) << flag;
    const auto version = run({"--version"});
    EXPECT_TRUE(version.status.exited_with(0));
    EXPECT_TRUE(version.out.starts_with("holdfast-memory ")) << version.out;
    EXPECT_TRUE(run({"--frobnicate"}).status.exited_with(64));
    EXPECT_TRUE(run({"--port=x"}).status.exited_with(64));
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

std::string many_notes(int count) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all += "{\"ts\":" + std::to_string(1000 + i) + ",\"id\":\"tr_" + std::to_string(i) +
               "\",\"sessionId\":\"se_m\",\"episodeId\":\"ep_" + std::to_string(i / 100) +
               "\",\"userText\":\"number " + std::to_string(i) + " of many about ordinary things\"}\n";
    return all;
}

// Each command is an owner for an instant only: one that did not wait would leave the index to the next, and
// that one to the next, and a person would be told for ever that there is nothing.
TEST_F(MemoryFace, a_search_finds_what_is_stored_also_while_it_is_not_indexed_yet) {
    ASSERT_TRUE(memory({"import", "-", "--quiet"}, many_notes(12000)).status.exited_with(0));
    ASSERT_TRUE(memory({"add", "the heron lives behind the mill"}).status.exited_with(0));
    std::filesystem::remove_all(file("memory/data/index"));
    const auto found = memory({"search", "heron"});
    EXPECT_TRUE(found.status.exited_with(0));
    EXPECT_NE(found.out.find("behind the mill"), std::string::npos) << found.out << found.err;
    // Built again means built again, and not begun.
    const auto rebuilt = memory({"check", "--rebuild-index"});
    EXPECT_NE(rebuilt.out.find("was built again"), std::string::npos) << rebuilt.out;
    start_daemon();
    ASSERT_FALSE(HasFatalFailure());
    const auto index = as_json({"status"}).at("health").at("index");
    EXPECT_EQ(index.at("done").as_int64(), 12001);
    EXPECT_EQ(index.at("total").as_int64(), 12001);
}

TEST_F(MemoryFace, an_answer_that_cannot_be_written_exits_73) {
    ASSERT_TRUE(memory({"add", "one note"}).status.exited_with(0));
    const auto lines = write("one.jsonl", "{\"ts\":1,\"text\":\"a\"}\n");
    const auto into_a_full_disk = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "memory");
        auto spec = home.command(words);
        spec.argv.insert(spec.argv.begin(), {"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh"});
        const auto done = run_to_end(spec, Deadline::in(patience));
        EXPECT_TRUE(done && done->status.exited_with(73)) << words[1] << (done ? done->err : "");
    };
    for (const auto& words : std::vector<std::vector<std::string>>{{"search", "note"},
                                                                   {"search", "note", "--json"},
                                                                   {"status"},
                                                                   {"status", "--json"},
                                                                   {"check"},
                                                                   {"check", "--json"},
                                                                   {"add", "another"},
                                                                   {"import", lines, "--json"},
                                                                   {"sessions"},
                                                                   {"episodes", "--json"},
                                                                   {"export"}})
        into_a_full_disk(words);
}

TEST_F(MemoryFace, what_is_there_can_be_listed_shown_and_forgotten) {
    ASSERT_TRUE(memory({"import", "-", "--quiet"}, many_notes(250)).status.exited_with(0));
    ASSERT_TRUE(memory({"import", "-", "--quiet"}, "{\"type\":\"skill\",\"id\":\"sk_1\",\"title\":"
                                                   "\"Deploying\",\"body\":\"First \\u001b[31mthis\"}\n")
                    .status.exited_with(0));
    // Page by page, each once.
    const auto first = memory({"episodes", "-n", "2"});
    EXPECT_EQ(std::ranges::count(first.out, '\n'), 3) << first.out;
    const auto at = first.err.find("--before ");
    ASSERT_NE(at, std::string::npos) << first.err;
    const auto place = first.err.substr(at + 9, first.err.find('\n') - at - 9);
    const auto second = as_json({"episodes", "-n", "2", "--before", place});
    ASSERT_EQ(second.at("episodes").as_array().size(), 1U);
    EXPECT_EQ(second.at("episodes").as_array()[0].at("id"), "ep_0");
    EXPECT_FALSE(second.as_object().contains("next"));
    EXPECT_TRUE(memory({"episodes", "--session", "se_none"}).status.exited_with(3));
    const auto sessions = memory({"sessions"});
    EXPECT_NE(sessions.out.find("se_m"), std::string::npos) << sessions.out;
    // One in full, by any kind of id.
    EXPECT_NE(memory({"show", "tr_7"}).out.find("number 7 of many"), std::string::npos);
    EXPECT_EQ(as_json({"show", "tr_7"}).at("episodeId"), "ep_0");
    const auto skill = memory({"show", "sk_1"});
    EXPECT_NE(skill.out.find("Deploying"), std::string::npos) << skill.out;
    EXPECT_EQ(skill.out.find('\x1b'), std::string::npos);
    const auto episode = memory({"show", "ep_1", "--json"}); // more than a page of it
    EXPECT_EQ(std::ranges::count(episode.out, '\n'), 100);
    EXPECT_TRUE(memory({"show", "tr_none"}).status.exited_with(3));
    // Forgotten is forgotten, and what is not there is said.
    const auto gone = memory({"forget", "tr_7", "tr_none", "tr_8"});
    EXPECT_TRUE(gone.status.exited_with(3)) << gone.err;
    EXPECT_NE(gone.err.find("no trace tr_none"), std::string::npos) << gone.err;
    EXPECT_TRUE(memory({"show", "tr_7"}).status.exited_with(3));
    EXPECT_TRUE(memory({"show", "tr_8"}).status.exited_with(3));
    EXPECT_TRUE(memory({"forget", "tr_9"}).status.exited_with(0));
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
    auto spec = home.command({"memory", "add", "x"});
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
    for (const std::string name : {"serve", "daemon", "mcp", "search", "add", "show", "episodes", "sessions",
                                   "forget", "export", "import", "check", "status"}) {
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

// It would be no JSON, and an answer to no request: nobody may wait for one.
TEST_F(MemoryFace, text_that_is_not_utf8_is_refused_and_waited_for_by_nobody) {
    ASSERT_TRUE(memory({"add", "there is a memory"}).status.exited_with(0));
    for (const std::vector<std::string>& words : {std::vector<std::string>{"search", "\xff\xfe"},
                                                  {"add", "caf\xe9"},
                                                  {"add", "x", "--tag", "\xc0\x80"}}) {
        const auto done = memory(words);
        EXPECT_TRUE(done.status.exited_with(64)) << words[0];
        EXPECT_NE(done.err.find("not UTF-8"), std::string::npos) << done.err;
    }
    EXPECT_TRUE(memory({"add"}, "bytes \xff\xfe").status.exited_with(64));
}

// Nobody waits without a word, also where no bar can be drawn.
TEST_F(MemoryFace, a_command_that_waits_for_an_owner_out_of_reach_says_for_whom) {
    start_daemon();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(memory({"add", "patience"}).status.exited_with(0));
    ASSERT_TRUE(std::filesystem::remove(file("memory/memory.sock")));
    auto spec = home.command({"memory", "search", "patience"});
    spec.err = Stdio::pipe;
    auto waiting = Child::spawn(spec);
    ASSERT_TRUE(waiting);
    const auto line = waiting->err().read_line(Deadline::in(patience));
    ASSERT_TRUE(line);
    EXPECT_EQ(*line, "holdfast: still waiting for the memory at " + file("memory") + ": opening; process " +
                         std::to_string(daemon.pid()) + " owns it");
    // It has taken the matter into its own hands by now: it goes on when the owner is gone.
    ASSERT_TRUE(daemon.kill());
    const auto end = waiting->wait(Deadline::in(patience));
    ASSERT_TRUE(end);
    EXPECT_TRUE(end->exited_with(0));
}

} // namespace

} // namespace holdfast::harness
