// What a person sees of long work, on terminals of any width; and that nothing of it gets into files and
// pipes.
#include "base/printable.hpp"
#include "face.hpp"
#include "support/terminal.hpp"

namespace holdfast::harness {

namespace {

using test::Terminal;

class MemoryTerminal : public MemoryFace {
protected:
    // holdfast memory WORDS… with stderr on a terminal; what was shown there.
    std::string on_terminal(std::vector<std::string> words, int columns, const char* kind = "xterm") const {
        Terminal terminal(columns);
        words.insert(words.begin(), "memory");
        auto spec = home.command(words);
        spec.argv.insert(spec.argv.begin(), {"/bin/sh", "-c", "exec \"$@\" 2>&9 9>&-", "sh"});
        spec.env.push_back(std::string("TERM=") + kind);
        spec.fds.emplace_back(terminal.end(), 9);
        auto done = run_to_end(spec, Deadline::in(patience));
        EXPECT_TRUE(done && done->status.exited_with(0)) << (done ? done->err : done.error().message);
        return terminal.shown();
    }
    // Enough to take a while.
    std::string many_lines() const {
        std::string all;
        for (int i = 0; i < 6000; ++i)
            all += "{\"ts\":" + std::to_string(1000 + i) + ",\"sessionId\":\"se_m\",\"userText\":\"number " +
                   std::to_string(i) + " " + std::string(200, 'x') + "\"}\n";
        return write("many.jsonl", all);
    }
};

void expect_bars(const std::string& shown, const char* what, int columns, const char* last) {
    const auto lines = Terminal::lines_of(shown);
    ASSERT_FALSE(lines.moving.empty()) << shown;
    bool named = false;
    for (const auto& line : lines.moving) {
        EXPECT_LT(static_cast<int>(base::shown_width(line)), columns) << line;
        named |= line.starts_with(std::string(what).substr(0, static_cast<std::size_t>(columns) - 1));
        EXPECT_EQ(base::printable(line), line) << "no control character and no half one";
    }
    EXPECT_TRUE(named) << shown;
    EXPECT_NE(lines.left.find(last), std::string::npos) << lines.left;
    EXPECT_EQ(lines.left.find('['), std::string::npos) << "no bar is left standing: " << lines.left;
}

TEST_F(MemoryTerminal, bars_are_as_wide_as_the_terminal_allows_and_gone_at_the_end) {
    const auto lines = many_lines();
    for (const int columns : {120, 40, 12}) {
        const auto at = "home-" + std::to_string(columns);
        expect_bars(on_terminal({"import", lines, "--home", file(at)}, columns), "importing", columns,
                    "6000 stored, 0 there already, 0 bad");
        expect_bars(on_terminal({"export", file(at + ".jsonl"), "--home", file(at)}, columns), "exporting",
                    columns, "lines written to");
    }
}

TEST_F(MemoryTerminal, a_word_is_not_drowned_in_progress) {
    ASSERT_EQ(on_terminal({"add", "one note"}, 80), "") << "what takes an instant needs no bar";
    EXPECT_EQ(on_terminal({"search", "note"}, 80), "");
}

TEST_F(MemoryTerminal, no_control_character_gets_into_a_file_or_onto_a_dumb_terminal) {
    const auto lines = many_lines();
    const auto piped = memory({"import", lines});
    EXPECT_EQ(piped.err, "holdfast: 6000 stored, 0 there already, 0 bad\n");
    EXPECT_EQ(piped.out, "");
    const auto exported = memory({"export"});
    EXPECT_EQ(exported.err, "");
    EXPECT_EQ(exported.out.find_first_of("\r\033"), std::string::npos);
    EXPECT_EQ(on_terminal({"import", lines}, 80, "dumb"),
              "holdfast: 0 stored, 6000 there already, 0 bad\r\n");
    EXPECT_EQ(on_terminal({"import", lines, "--quiet"}, 80), "");
}

} // namespace

} // namespace holdfast::harness
