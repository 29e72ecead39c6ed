// Text of unknown origin never steers the terminal of who looks at it: one hostile string, wherever a helper
// or a stored text can put it, through every command.
#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "keep/fixture.hpp"
#include "support/terminal.hpp"

#include "json/json.hpp"

#include <filesystem>
#include <fstream>

namespace holdfast::harness {

namespace {

namespace json = boost::json; // not ours: a second opinion

// What no terminal may be given, each as its bytes. Written down here once more: the table of the product is
// what is under test.
const Words never{
    "\x1b",         "\x7f",         "\x08",         "\x07",
    "\x9b\x33",     "\xff",                                         // C0, DEL, and bytes that are not UTF-8
    "\xc2\x9b",     "\xc2\x9d",     "\xc2\x85",                     // C1: CSI, OSC, NEL
    "\xe2\x80\xae", "\xe2\x80\xaa", "\xe2\x81\xa6", "\xe2\x81\xa9", // overrides, embeddings, isolates
    "\xe2\x80\x8e", "\xe2\x80\x8f", "\xd8\x9c",                     // marks of direction
    "\xe2\x80\x8b", "\xe2\x80\x8d", "\xe2\x81\xa0", "\xef\xbb\xbf", // zero-width
    "\xe2\x80\xa8", "\xe2\x80\xa9",                                 // line and paragraph separator
};

std::string all_of_them(bool utf8) {
    std::string out = "EVIL\033]0;title\a\033[2J\033[31;1m";
    for (const std::string& one : never)
        if (!utf8 || base::is_utf8(one))
            out += one + ".";
    return out + "\rback";
}
const std::string hostile = all_of_them(false);
const std::string hostile_utf8 = all_of_them(true); // where other bytes are refused

const std::string brief = "EVIL\033[2J\xc2\x9b\xe2\x80\xae\xff"; // where names are short

// What a terminal was given that it must not be given; empty when all is well. A line end is "\r\n" there.
std::string raw_controls(const std::string& shown) {
    std::string out;
    for (const std::string& one : never)
        if (shown.find(one) != std::string::npos)
            out += " " + base::printable_json(one);
    for (std::size_t at = 0; at < shown.size(); ++at) {
        const auto byte = static_cast<unsigned char>(shown[at]);
        const bool line_end = byte == '\n' || (byte == '\r' && shown.substr(at, 2) == "\r\n");
        if ((byte < 0x20 && !line_end) || byte == 0x7f)
            out += " byte " + std::to_string(byte);
    }
    if (!base::is_utf8(shown))
        out += " (not UTF-8)";
    return out;
}

std::string without(std::string text, const std::string& part) {
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part))
        text.erase(at, part.size());
    return text;
}

class ForeignText : public Keep {
protected:
    // `holdfast words...` with stdout and stderr on a terminal, to its end, or (with `until`) interrupted
    // once that was shown.
    std::string on_terminal(const Words& words, const std::string& until = {}) {
        test::Terminal terminal(500);
        auto spec = home.command(words);
        spec.argv.insert(spec.argv.begin(), {"/bin/sh", "-c", "exec \"$@\" >&9 2>&9 9>&-", "sh"});
        spec.out = Stdio::null;
        spec.fds.emplace_back(terminal.end(), 9);
        auto child = Child::spawn(spec);
        EXPECT_TRUE(child) << child.error().message;
        std::string shown;
        if (!until.empty()) {
            shown = terminal.until(until);
            EXPECT_TRUE(child->signal(SIGINT));
        }
        shown += terminal.shown();
        auto ended = child->wait(Deadline::in(patience));
        EXPECT_TRUE(ended) << ended.error().message;
        return shown;
    }
    enum class Foreign { is_shown, may_be_absent };
    // Where the foreign text is not shown at all, the command was not put to the test. `ours`: what we may
    // say to a terminal there.
    void expect_harmless(const Words& words, Foreign foreign = Foreign::is_shown,
                         const std::string& until = {}, const std::string& ours = {}) {
        auto shown = on_terminal(words, until);
        if (!ours.empty())
            shown = without(std::move(shown), ours);
        json::array named;
        for (const std::string& word : words)
            named.emplace_back(base::printable(word));
        EXPECT_EQ(raw_controls(shown), "") << named << '\n' << base::printable_json(shown);
        if (foreign == Foreign::is_shown) {
            EXPECT_NE(shown.find("EVIL"), std::string::npos) << named << '\n' << base::printable_json(shown);
        }
    }
    [[nodiscard]] std::string find_file(const std::string& name) const {
        for (const auto& one : std::filesystem::recursive_directory_iterator(home.path()))
            if (one.path().filename() == name)
                return one.path();
        return {};
    }
    // A helper that is hostile wherever it can be, on a slot of its own, and says so on stderr.
    void start_hostile_helper() {
        const auto script = "printf '%s\\n' \"$1\" >&2; shift; exec \"$@\"";
        const auto animal = home.animal(
            "notifier", {"--steps=1", "--step-ms=1",
                         "--say=STATUS=" + hostile_utf8 + "\nHOLDFAST_ADDRESS=" + hostile_utf8, hostile});
        scene.start({.host = {},
                     .holdfast = {"--name", hostile, "--session", hostile, "--task", hostile, "--log",
                                  "--slot", "shown", "--ready", "notify"},
                     .command = sh(script, Words{hostile} + animal)});
        ASSERT_TRUE(eventually_in_ps("\"phase\":\"ready\""));
        ASSERT_TRUE(eventually(Deadline::in(patience), [&] {
            return holdfast({"status", "shown", "--json"}).out.find("EVIL") != std::string::npos;
        }));
    }
};

TEST_F(ForeignText, of_a_helper_steers_no_terminal) {
    start_hostile_helper();
    const Words attach{"run", "--slot", "shown", "--if-held", "attach"};
    for (const Words& words : std::vector<Words>{
             {"ps"},
             {"ps", "--json"},
             {"ps", "--tree"},
             {"ps", "--tree", "--json"},
             {"slots"},
             {"slots", "--json"},
             {"status", "shown"},
             {"status", "shown", "--json"},
             {"wait", "shown", "--for", "ready", "--json"},
             {"events"},
             {"events", "--json"},
             {"run", "--slot", "shown", "--", "true"},
             attach + Words{"--", "true"},
             attach + Words{"--json", "--", "true"},
             {"doctor", "--under", std::to_string(scene.host().pid()), "--json"},
         })
        expect_harmless(words, words.front() == "doctor" ? Foreign::may_be_absent : Foreign::is_shown);
    const std::string cleared = "\033[H\033[J"; // ours, before each picture
    for (const Words& words : std::vector<Words>{{"ps", "--watch"}, {"slots", "--watch"}, {"top"}})
        expect_harmless(words, Foreign::is_shown, "EVIL", cleared);
    expect_harmless({"events", "--follow"}, Foreign::is_shown, "EVIL");
    expect_harmless({"stop", hostile});
    expect_nothing_left();
    for (const Words& words : std::vector<Words>{{"status", "shown"}, {"events"}}) // history
        expect_harmless(words);
}

TEST_F(ForeignText, of_a_tree_without_guards_steers_no_terminal) {
    start_hostile_helper();
    scene.kill_both_guards();
    ASSERT_TRUE(eventually_in_ps("\"state\":\"abandoned\""));
    for (const Words& words : std::vector<Words>{{"ps"},
                                                 {"ps", "--tree"},
                                                 {"status", "shown"},
                                                 {"status", "shown", "--json"},
                                                 {"doctor"},
                                                 {"doctor", "--json"}})
        expect_harmless(words);
    for (const Words& words : std::vector<Words>{{"reap"}, {"reap", "--json"}})
        expect_harmless(words, Foreign::may_be_absent);
    expect_harmless({"stop", hostile, "--json"});
    expect_nothing_left();
}

TEST_F(ForeignText, in_a_log_is_shown_as_text_with_its_colours_and_raw_only_when_asked_for) {
    start_hostile_helper();
    ASSERT_TRUE(eventually(Deadline::in(patience), [&] {
        return holdfast({"logs", hostile}).out == hostile + "\n";
    })) << "into a pipe it is what the helper wrote";
    for (const Words& words : std::vector<Words>{{"logs", hostile}, {"logs", "--follow", hostile}}) {
        const auto shown = on_terminal(words, words.size() > 2 ? "back" : "");
        EXPECT_NE(shown.find("^[]0;title^G^[[2J\033[31;1m"), std::string::npos)
            << base::printable_json(shown);
        EXPECT_NE(shown.find("<U+202E>"), std::string::npos);
        EXPECT_NE(shown.find("<9B>"), std::string::npos);
        EXPECT_TRUE(shown.ends_with("\033[0m")) << "the colour does not go on behind the log";
        EXPECT_EQ(raw_controls(without(without(shown, "\033[31;1m"), "\033[0m")), "");
    }
    EXPECT_NE(on_terminal({"logs", "--raw", hostile}).find(hostile), std::string::npos);
}

TEST_F(ForeignText, in_the_event_log_steers_no_terminal) {
    ASSERT_EQ(holdfast({"run", "--", "true"}).status, (ExitStatus{})); // the log is there
    const auto found = find_file("events.jsonl");
    ASSERT_FALSE(found.empty());
    std::ofstream(found, std::ios::app) << json::serialize(json::object{{"ts", 1},
                                                                        {"type", hostile_utf8},
                                                                        {"id", hostile_utf8},
                                                                        {"name", hostile_utf8},
                                                                        {"reason", hostile_utf8}})
                                        << '\n';
    expect_harmless({"events"});
    expect_harmless({"events", "--json"});
    expect_harmless({"logs", hostile});
}

// Each message that repeats a word of the command line, or the text of a file.
TEST_F(ForeignText, in_a_message_steers_no_terminal) {
    const auto file = home.dir().file("lines.jsonl");
    std::ofstream(file) << "{\"" << hostile << '\n';
    std::ofstream(home.dir().file("pid")) << "{\"pid\":1,\"kind\":\"" << hostile << "\"}";
    for (const Words& words : std::vector<Words>{
             {hostile},
             {"memory", hostile},
             {"help", hostile},
             {"completion", hostile},
             {"ps", "--" + hostile},
             {"ps", "--profile", brief},
             {"ps", hostile},
             {"run", "--grace", hostile, "--", "true"},
             {"run", "--contain", hostile, "--", "true"},
             {"run", "--stop", hostile, "--", "true"},
             {"run", "--host", hostile, "--", "true"},
             {"run", "--memory", hostile, "--", "true"},
             {"run", "--spare", "(" + hostile, "--", "true"},
             {"run", "--slot", brief, "--", "true"},
             {"run", "--slot", "a", "--slot-dir", "/" + hostile, "--", "true"},
             {"run", "--slot", "a", "--pidfile", "/" + hostile + "/pid", "--", "true"},
             {"run", "--slot", "a", "--adopt", "x", "--adopt-match", "(" + hostile, "--", "true"},
             {"run", "--", "/" + hostile},
             {"run", "--name", hostile, "--max-life", "10ms", "--", "sleep", "60"},
             {"run", "--contain", "pidns", "--", "/" + hostile},
             {"status", brief},
             {"wait", brief, "--for", "free"},
             {"stop", hostile},
             {"logs", hostile},
             {"doctor", "--under", hostile},
             {"doctor", "--window", hostile},
             {"hermes", hostile},
             {"hermes", "status", "--home", "/" + hostile},
             {"memory", "search", "--limit", hostile, "x"},
             {"memory", "status", "--home", "/" + hostile},
             {"memory", "search", "--home", "/" + hostile, "x"},
             {"memory", "import", "/" + hostile},
             {"memory", "serve", "--port", hostile},
             {"memory", "serve", "--home", "/proc/" + hostile},
         })
        expect_harmless(words);
    expect_harmless({"memory", "import", "--quiet", file}, Foreign::may_be_absent);
}

TEST_F(ForeignText, in_a_memory_steers_no_terminal) {
    const auto file = home.dir().file("lines.jsonl");
    std::ofstream(file) << json::serialize(json::object{{"ts", 1},
                                                        {"sessionId", "se_" + hostile_utf8},
                                                        {"agent", hostile_utf8},
                                                        {"userText", hostile_utf8 + "\nmore of it"},
                                                        {"agentText", hostile_utf8},
                                                        {"toolCalls", {{{"name", hostile_utf8}}}},
                                                        {"tags", {hostile_utf8}}})
                        << '\n';
    const auto imported = holdfast({"memory", "import", file});
    ASSERT_TRUE(imported.status.exited_with(0)) << imported.err;
    const auto found = json::parse(holdfast({"memory", "search", "EVIL", "--json"}).out);
    const std::string trace(found.at("hits").at(0).at("refId").as_string());
    const auto sessions = json::parse(holdfast({"memory", "sessions", "--json"}).out);
    EXPECT_EQ(sessions.at("sessions").at(0).at("id").as_string(), "se_" + hostile_utf8)
        << "as JSON nothing is lost";
    const auto episodes = json::parse(holdfast({"memory", "episodes", "--json"}).out);
    const std::string episode(episodes.at("episodes").at(0).at("id").as_string());
    for (const Words& words : std::vector<Words>{{"search", "EVIL"},
                                                 {"search", "EVIL", "--json"},
                                                 {"show", trace},
                                                 {"show", trace, "--json"},
                                                 {"show", episode},
                                                 {"show", episode, "--json"},
                                                 {"sessions"},
                                                 {"sessions", "--json"},
                                                 {"episodes"},
                                                 {"episodes", "--json"},
                                                 {"export"},
                                                 {"export", "/" + hostile + "/file"},
                                                 {"show", hostile_utf8},
                                                 {"forget", hostile_utf8},
                                                 {"search", "--session", hostile, "x"}})
        expect_harmless(Words{"memory"} + words, words.front() == "search" && words.size() > 3
                                                     ? Foreign::may_be_absent
                                                     : Foreign::is_shown);
    for (const Words& words : std::vector<Words>{{"status"}, {"status", "--json"}, {"check"}})
        expect_harmless(Words{"memory"} + words, Foreign::may_be_absent);
}

} // namespace

} // namespace holdfast::harness
