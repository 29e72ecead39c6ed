// Homes whose database has pages that cannot be read: no sound row is lost with them, and nothing that is
// missing is passed over in silence.
#include "face.hpp"

#include "memory/repository/connection.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

namespace holdfast::harness {

namespace {

using memory::open_database;
using memory::OpenMode;

constexpr std::size_t page_bytes = 4096;

class DamagedMemory : public MemoryFace {
protected:
    // `count` traces, "row 0 xxx…" and so on; about ten of them lie on a page. Numbered from 1 in the store.
    void fill(int count) {
        std::string all;
        for (int i = 0; i < count; ++i)
            all += "{\"ts\":" + std::to_string(1000 + i) + ",\"userText\":\"row " + std::to_string(i) + " " +
                   std::string(300, 'x') + "\"}\n";
        ASSERT_TRUE(memory({"import", "-"}, all).status.exited_with(0));
        bytes = read_file(database()).value();
    }
    [[nodiscard]] std::string database() const { return file("memory/data/memory.db"); }
    // Which rows lie on each page that has any.
    [[nodiscard]] std::map<std::size_t, std::set<int>> rows_by_page(int count) const {
        std::map<std::size_t, std::set<int>> pages;
        for (int i = 0; i < count; ++i)
            pages[bytes.find("row " + std::to_string(i) + " x") / page_bytes].insert(i);
        return pages;
    }
    // The first page of a table; SQLite counts them from 1.
    [[nodiscard]] std::size_t root_of(const std::string& table) const {
        auto opened = open_database(database(), OpenMode::read_only).value();
        return static_cast<std::size_t>(
                   opened.scalar("SELECT rootpage FROM sqlite_schema WHERE name='" + table + "'").value()) -
               1;
    }
    // Gives a row another number, in the cell of its page and nowhere else. Both are of two bytes there.
    void renumber(int row, int number) {
        const auto text = bytes.find("row " + std::to_string(row - 1) + " x");
        const auto page = text / page_bytes * page_bytes;
        const auto at = [&](std::size_t offset) { return static_cast<unsigned char>(bytes[page + offset]); };
        const std::size_t cells = at(3) * 256U + at(4);
        for (std::size_t cell = 0; cell < cells; ++cell) {
            std::size_t place = at(8 + 2 * cell) * 256U + at(9 + 2 * cell);
            while (at(place) >= 0x80) // the size of its content
                ++place;
            ++place;
            if ((at(place) & 0x7fU) * 128U + at(place + 1) != static_cast<unsigned>(row))
                continue;
            bytes[page + place] = static_cast<char>(0x80 | number >> 7);
            bytes[page + place + 1] = static_cast<char>(number & 0x7f);
            return;
        }
        ADD_FAILURE() << "row " << row << " is not found on its page";
    }
    // The rows that an export says it left out.
    static std::set<int> named_in(const std::string& words, int count) {
        std::set<int> named;
        constexpr std::string_view said = "holdfast: table traces, row";
        for (auto at = words.find(said); at != words.npos; at = words.find(said, at + 1)) {
            const auto line = words.substr(at, words.find('\n', at) - at);
            int first = 0;
            int last = 0;
            if (line.find(": not exported (") == line.npos)
                continue;
            if (std::sscanf(line.c_str(), "holdfast: table traces, rows from %d on", &first) == 1)
                last = count;
            else if (std::sscanf(line.c_str(), "holdfast: table traces, row %d", &first) == 1)
                last = first;
            else
                EXPECT_EQ(std::sscanf(line.c_str(), "holdfast: table traces, rows %d to %d", &first, &last),
                          2)
                    << line;
            EXPECT_LE(first, last) << line;
            for (int row = first; row <= last; ++row)
                named.insert(row - 1);
        }
        return named;
    }
    void overwrite(std::size_t page) { std::memset(bytes.data() + page * page_bytes, 0xa5, page_bytes); }
    // What was overwritten, into the home; its index away, so that every row is read again.
    void put_damage() const {
        std::filesystem::remove_all(file("memory/data/index"));
        ASSERT_TRUE(write_file(database(), bytes));
    }
    // The numbers in the texts of an export.
    static std::set<int> rows_in(const std::string& lines) {
        std::set<int> rows;
        constexpr std::string_view before = "\"userText\":\"row ";
        for (auto at = lines.find(before); at != lines.npos; at = lines.find(before, at + 1))
            rows.insert(std::atoi(lines.c_str() + at + before.size()));
        return rows;
    }
    // Without what belongs to it ("-wal").
    [[nodiscard]] std::string kept_aside() const {
        for (const auto& entry : std::filesystem::directory_iterator(file("memory/data")))
            if (const auto name = entry.path().filename().string();
                name.starts_with("memory.db.corrupt-") && std::isdigit(name.back()) != 0)
                return entry.path();
        return "";
    }
    std::string bytes;
};

std::set<int> all_but(int count, const std::set<int>& lost) {
    std::set<int> rows;
    for (int i = 0; i < count; ++i)
        if (!lost.contains(i))
            rows.insert(i);
    return rows;
}

// A store of our own that is damaged in the middle: what stands before and behind the damage comes over.
TEST_F(DamagedMemory, a_damaged_store_gives_what_can_still_be_read) {
    constexpr int count = 3000;
    fill(count);
    const auto pages = rows_by_page(count);
    const auto& [page, lost] = *std::next(pages.begin(), 150);
    overwrite(page);
    const auto damaged = write("damaged.db", bytes);
    const auto report = memory({"import", damaged, "--home", file("rescued"), "--json"});
    EXPECT_FALSE(report.status.exited_with(0)); // it says that this was not all
    EXPECT_NE(report.err.find("damaged"), std::string::npos) << report.err;
    EXPECT_EQ(rows_in(memory({"export", "--home", file("rescued")}).out), all_but(count, lost));
    // What check and export say leads to just that.
    std::filesystem::create_directories(file("broken/data"));
    std::filesystem::copy_file(damaged, file("broken/data/memory.db"));
    for (const char* command : {"check", "export"}) {
        const auto told = memory({command, "--home", file("broken")});
        EXPECT_FALSE(told.status.exited_with(0));
        EXPECT_NE(told.err.find("holdfast memory import " + file("broken/data/memory.db") + " --home"),
                  std::string::npos)
            << told.err;
    }
    EXPECT_EQ(
        as_json({"search", "row 2999", "--home", file("rescued"), "-n", "1"}).at("hits").as_array().size(),
        1U);
}

// The rows of the damaged pages, and no other: not the first of the next page, and no sound page between two
// damaged ones, be it as long or as short as it likes.
TEST_F(DamagedMemory, only_the_rows_of_damaged_pages_are_lost_and_each_is_named) {
    constexpr int count = 3000;
    fill(count);
    const auto sound = memory({"export"});
    EXPECT_TRUE(sound.status.exited_with(0)) << sound.err; // negative control
    EXPECT_EQ(rows_in(sound.out), all_but(count, {}));
    const auto pages = rows_by_page(count);
    std::vector<std::size_t> with_rows;
    for (const auto& [page, rows] : pages)
        with_rows.push_back(page);
    ASSERT_GT(with_rows.size(), 250U);
    std::set<int> lost;
    const auto damage = [&](std::size_t nth) {
        overwrite(with_rows[nth]);
        lost.insert(pages.at(with_rows[nth]).begin(), pages.at(with_rows[nth]).end());
    };
    damage(5);                            // one
    for (std::size_t i = 20; i < 30; ++i) // many, and two sound ones before
        damage(i);
    for (std::size_t i = 32; i < 60; ++i) // many more
        damage(i);
    for (std::size_t i = 80; i < 200; i += 3)
        damage(i);
    damage(with_rows.size() - 1); // and the last
    // Bytes of one row, on a sound page.
    const int flipped = *pages.at(with_rows[210]).begin();
    std::memset(bytes.data() + bytes.find("row " + std::to_string(flipped) + " x") + 8, 0xff, 4);
    put_damage();

    const auto done = memory({"export", file("out.jsonl")});
    EXPECT_TRUE(done.status.exited_with(65)) << done.err;
    EXPECT_EQ(rows_in(read_file(file("out.jsonl")).value()), all_but(count, lost));
    EXPECT_EQ(named_in(done.err, count), lost);
    const auto mended = "holdfast: table traces, row " + std::to_string(flipped + 1) + ": exported, but ";
    const auto at = done.err.find(mended);
    EXPECT_NE(at, std::string::npos) << done.err;
    EXPECT_EQ(done.err.find(": exported, but ", at + mended.size()), std::string::npos) << done.err;
    const auto imported = memory({"import", file("out.jsonl"), "--home", file("second")});
    EXPECT_TRUE(imported.status.exited_with(0)) << imported.err;
    EXPECT_EQ(rows_in(memory({"export", "--home", file("second")}).out), all_but(count, lost));

    // The row behind the damage, and one in the middle of it, are found.
    for (const auto nth : {std::size_t{6}, std::size_t{31}, std::size_t{82}}) {
        const auto row = "row " + std::to_string(*pages.at(with_rows[nth]).begin()) + " ";
        const auto found = memory({"search", row, "-n", "1"});
        EXPECT_TRUE(found.status.exited_with(0)) << found.err;
        EXPECT_NE(found.out.find(row), std::string::npos) << row << found.out;
        EXPECT_NE(found.err.find("table traces, rows "), std::string::npos) << found.err;
    }
}

// The one page without which SQLite cannot use it as a store of ours. Whoever opens it then sets it aside.
TEST_F(DamagedMemory, an_export_of_a_database_that_was_set_aside_is_no_empty_success) {
    constexpr int count = 200;
    fill(count);
    overwrite(root_of("state"));
    put_damage();
    const auto done = memory({"export", file("out.jsonl")});
    EXPECT_TRUE(done.status.exited_with(65)) << done.err;
    const auto aside = kept_aside();
    ASSERT_FALSE(aside.empty());
    EXPECT_NE(done.err.find(aside), std::string::npos) << done.err;
    EXPECT_EQ(rows_in(read_file(file("out.jsonl")).value()), all_but(count, {}));
    const auto imported = memory({"import", file("out.jsonl"), "--home", file("second")});
    EXPECT_TRUE(imported.status.exited_with(0)) << imported.err;
    // A later one, by an owner that found a sound, empty database.
    const auto later = memory({"export"});
    EXPECT_TRUE(later.status.exited_with(65)) << later.err;
    EXPECT_EQ(rows_in(later.out), all_but(count, {}));
    // And a search that finds nothing says why.
    const auto nothing = memory({"search", "row", "7"});
    EXPECT_NE(nothing.err.find("holdfast memory import " + aside + " --home"), std::string::npos)
        << nothing.err;

    // What has been stored since is exported alone: of the old one something may have been brought over, and
    // forgotten after that. That it lies there is said for as long as it does.
    ASSERT_TRUE(memory({"add", "life goes on"}).status.exited_with(0));
    const auto since = memory({"export"});
    EXPECT_TRUE(since.status.exited_with(65)) << since.err;
    EXPECT_NE(since.out.find("life goes on"), std::string::npos);
    EXPECT_TRUE(rows_in(since.out).empty());
    const auto way = since.err.find("holdfast memory export --from " + aside + " FILE");
    EXPECT_NE(way, std::string::npos) << since.err;
    const auto alone = memory({"export", "--from", aside});
    EXPECT_TRUE(alone.status.exited_with(0)) << alone.err;
    EXPECT_EQ(rows_in(alone.out), all_but(count, {}));
    const auto brought = memory({"import", aside});
    EXPECT_TRUE(brought.status.exited_with(0)) << brought.err;
    std::filesystem::rename(aside, file("away"));
    const auto whole = memory({"export"});
    EXPECT_TRUE(whole.status.exited_with(0)) << whole.err;
    EXPECT_EQ(rows_in(whole.out), all_but(count, {}));
}

TEST_F(DamagedMemory, an_export_from_a_damaged_file_has_the_rest_or_makes_no_file) {
    constexpr int count = 200;
    fill(count);
    const auto pages = rows_by_page(count);
    const auto& [page, lost] = *std::next(pages.begin(), 3);
    overwrite(page);
    const auto damaged = write("damaged.db", bytes);
    const auto done = memory({"export", file("out.jsonl"), "--from", damaged});
    EXPECT_TRUE(done.status.exited_with(65)) << done.err;
    EXPECT_NE(done.err.find("table traces, rows "), std::string::npos) << done.err;
    EXPECT_EQ(rows_in(read_file(file("out.jsonl")).value()), all_but(count, lost));
    // Its schema is on the first page: nothing can be read without that.
    std::memset(bytes.data() + 100, 0xa5, page_bytes - 100);
    const auto nothing = memory({"export", file("none.jsonl"), "--from", write("damaged.db", bytes)});
    EXPECT_FALSE(nothing.status.exited_with(0)) << nothing.err;
    EXPECT_FALSE(std::filesystem::exists(file("none.jsonl")));
    EXPECT_TRUE(memory({"export", "--from", write("lines", "{}\n")}).status.exited_with(64));
}

// A copy that broke off: the pages that are there are sound.
TEST_F(DamagedMemory, what_a_file_that_was_cut_off_still_has_is_exported) {
    constexpr int count = 3000;
    fill(count);
    std::set<int> lost;
    const auto cut = bytes.size() * 6 / 10 / page_bytes * page_bytes + 100;
    for (const auto& [page, rows] : rows_by_page(count))
        if ((page + 1) * page_bytes > cut)
            lost.insert(rows.begin(), rows.end());
    ASSERT_GT(lost.size(), 500U);
    ASSERT_LT(lost.size(), 2500U);
    bytes.resize(cut);
    put_damage();
    const auto done = memory({"export", file("out.jsonl")});
    EXPECT_TRUE(done.status.exited_with(65)) << done.err;
    const auto lines = read_file(file("out.jsonl"));
    ASSERT_TRUE(lines) << done.err;
    EXPECT_EQ(rows_in(*lines), all_but(count, lost));
    EXPECT_NE(done.err.find("table traces, rows "), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("holdfast memory import " + kept_aside() + " --home"), std::string::npos)
        << done.err;
    const auto imported = memory({"import", file("out.jsonl"), "--home", file("second")});
    EXPECT_TRUE(imported.status.exited_with(0)) << imported.err;
    const auto at_once = memory({"import", kept_aside(), "--home", file("third")});
    EXPECT_FALSE(at_once.status.exited_with(0)) << "it says that this was not all";
    EXPECT_EQ(rows_in(memory({"export", "--home", file("third")}).out), all_but(count, lost));
}

// Damage may give a row the number of another. What follows the numbers must neither go round in a circle nor
// leave sound rows out.
TEST_F(DamagedMemory, rows_with_numbers_that_are_not_theirs_hold_nothing_up) {
    constexpr int count = 3000;
    fill(count);
    const auto pages = rows_by_page(count);
    renumber(1500, 200);   // lower than the one before it
    renumber(1800, 2900);  // sound ones are between
    renumber(3000, 16000); // higher than any
    put_damage();
    std::set<int> near;
    for (const auto& [page, rows] : pages)
        if (rows.contains(1499) || rows.contains(1799) || rows.contains(2999))
            near.insert(rows.begin(), rows.end());

    const auto done = memory({"export", file("out.jsonl")});
    EXPECT_TRUE(done.status.exited_with(65)) << done.err;
    const auto exported = rows_in(read_file(file("out.jsonl")).value());
    const auto named = named_in(done.err, count);
    EXPECT_TRUE(named.contains(1499) && named.contains(1799)) << done.err;
    EXPECT_TRUE(std::ranges::includes(near, named)) << "no other page is touched: " << done.err;
    for (int row = 0; row < count; ++row)
        EXPECT_NE(exported.contains(row), named.contains(row)) << row;
    const auto imported = memory({"import", file("out.jsonl"), "--home", file("second")});
    EXPECT_TRUE(imported.status.exited_with(0)) << imported.err;

    for (const int row : {1000, 1510, 1850, 2950}) {
        const auto word = "row " + std::to_string(row) + " ";
        const auto found = memory({"search", word, "-n", "1"});
        EXPECT_TRUE(found.status.exited_with(0)) << found.err;
        EXPECT_NE(found.out.find(word), std::string::npos) << row << found.out << found.err;
    }
}

// Traces are found whatever else is damaged.
TEST_F(DamagedMemory, a_search_goes_on_without_the_tables_that_cannot_be_read) {
    constexpr int count = 50;
    ASSERT_TRUE(memory({"import", "-"},
                       "{\"type\":\"skill\",\"id\":\"sk_1\",\"title\":\"row\",\"body\":\"of trees\"}\n"
                       "{\"type\":\"policy\",\"id\":\"po_1\",\"title\":\"row\",\"body\":\"of trees\"}\n")
                    .status.exited_with(0));
    fill(count);
    const auto sound = bytes;
    const auto before = as_json({"search", "trees", "row", "7", "-n", "60"}).at("hits").as_array();
    for (const char* table : {"skills", "policies", "world_models", "sessions", "episodes"}) {
        SCOPED_TRACE(table);
        bytes = sound;
        overwrite(root_of(table));
        put_damage();
        const auto found = memory({"search", "trees", "row", "7", "-n", "60", "--json"});
        ASSERT_TRUE(found.status.exited_with(0)) << found.err;
        const auto hits = boost::json::parse(found.out).at("hits").as_array();
        const auto of_kind = [](const boost::json::array& all, std::string_view kind) {
            return std::ranges::count_if(
                all, [&](const auto& hit) { return hit.at("refKind").as_string() == kind; });
        };
        EXPECT_EQ(of_kind(hits, "trace"), of_kind(before, "trace"));
        const std::string name = table;
        EXPECT_EQ(of_kind(hits, "skill"), name == "skills" ? 0 : 1);
        EXPECT_EQ(of_kind(hits, "policy"), name == "policies" ? 0 : 1);
        // Named once, and nothing else is blamed.
        const std::string said = "the store is damaged: table " + name + ", row";
        const auto at = found.err.find(said);
        EXPECT_NE(at, std::string::npos) << found.err;
        EXPECT_EQ(found.err.find("the store is damaged", at + 1), std::string::npos) << found.err;
        EXPECT_EQ(found.err.find("table traces"), std::string::npos) << found.err;
        const auto text = boost::json::serialize(hits);
        EXPECT_EQ(text.find("\"sessionId\":\"\"") != text.npos, name == "sessions");
        EXPECT_EQ(text.find("\"episodeId\":\"\"") != text.npos, name == "episodes");
    }
}

// A clean-up tool empties the log of an owner. It leaves by itself; what it says, the commands say after it.
TEST_F(MemoryFace, status_and_check_say_that_a_log_was_cut_until_its_note_is_removed) {
    start_daemon();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(memory({"add", "the heron lives behind the mill"}).status.exited_with(0));
    EXPECT_TRUE(memory({"check"}).status.exited_with(0)); // negative control
    std::filesystem::resize_file(file("memory/data/memory.db-wal"), 0);
    const auto end = daemon.wait(Deadline::in(patience));
    ASSERT_TRUE(end);
    EXPECT_TRUE(end->exited_with(1));
    const auto before = memory({"status"});
    EXPECT_TRUE(before.status.exited_with(3));
    EXPECT_NE(before.out.find("warning  the write-ahead log"), std::string::npos) << before.out;
    EXPECT_NE(before.out.find("the next process that opens the store stores it"), std::string::npos)
        << before.out;

    const auto checked = memory({"check"});
    EXPECT_TRUE(checked.status.exited_with(65)) << checked.out << checked.err;
    EXPECT_NE(checked.err.find("the database itself is sound, but not all that was answered may be in it"),
              std::string::npos)
        << checked.err;
    EXPECT_NE(checked.err.find("was cut or overwritten while its owner used it"), std::string::npos)
        << checked.err;
    const auto as_lines = memory({"check", "--json"});
    EXPECT_TRUE(as_lines.status.exited_with(65)) << as_lines.err;
    const auto report = boost::json::parse(as_lines.out);
    EXPECT_FALSE(report.at("sound").as_bool());
    EXPECT_TRUE(report.at("databaseSound").as_bool());
    // The file of rows has served, and is gone: nobody is sent to it any more.
    const auto after = memory({"status"});
    for (const auto& said : {checked.err, as_lines.out, after.out}) {
        EXPECT_EQ(said.find("the next process that opens"), std::string::npos) << said;
        EXPECT_NE(said.find("is stored again"), std::string::npos) << said;
    }
    EXPECT_NE(memory({"search", "heron"}).out.find("behind the mill"), std::string::npos);
    for (const auto& entry : std::filesystem::directory_iterator(file("memory/data")))
        if (entry.path().filename().string().starts_with("memory.db.log-cut-")) {
            EXPECT_NE(entry.path().extension(), ".rows");
            std::filesystem::remove(entry.path());
        }
    EXPECT_TRUE(memory({"check"}).status.exited_with(0));
    EXPECT_EQ(memory({"status"}).out.find("warning"), std::string::npos);
}

// The process that reads a database has a bound, too, and does not stay behind.
TEST_F(MemoryFace, a_command_gives_up_on_a_reader_of_a_database_that_gets_no_further) {
    ASSERT_TRUE(memory({"add", "one"}).status.exited_with(0));
    const auto database = file("memory/data/memory.db");
    const auto deaf =
        write("deaf", "#!/bin/sh\ncase $1 in --lines-of=*) echo $$ >\"$0.pid\"; exec sleep 3600;; esac\n"
                      "exec " +
                          program("holdfast-memory") + " \"$@\"\n");
    ASSERT_EQ(::chmod(deaf.c_str(), 0700), 0);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"export", "--from", database}, {"import", database}}) {
        auto spec = home.command({"memory"});
        spec.argv.insert(spec.argv.end(), words.begin(), words.end());
        spec.argv.insert(spec.argv.end(), {"--timeout", "300ms"});
        spec.env.push_back("HOLDFAST_MEMORY=" + deaf);
        const auto done = run_to_end(spec, Deadline::in(patience));
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_TRUE(done->status.exited_with(75)) << to_string(done->status) << done->err;
        EXPECT_NE(done->err.find("waited 300 ms for holdfast-memory"), std::string::npos) << done->err;
        EXPECT_NE(done->err.find(database), std::string::npos) << done->err;
        const auto reader = std::atoi(read_file(deaf + ".pid").value_or("0").c_str());
        ASSERT_GT(reader, 0);
        EXPECT_TRUE(eventually(Deadline::in(patience), [&] {
            const auto seen = inspect(reader);
            return !seen || seen->state == 'Z';
        }));
    }
}

// An owner that takes the question and never gets on: the command ends, and says what it waited for.
TEST_F(MemoryFace, a_command_gives_up_on_an_owner_that_gets_no_further) {
    ASSERT_TRUE(memory({"add", "one"}).status.exited_with(0));
    // Not the helper, but something that takes lines and gives none.
    const auto silent = write("silent", "#!/bin/sh\nwhile read -r line; do :; done\n");
    ASSERT_EQ(::chmod(silent.c_str(), 0700), 0);
    auto spec = home.command({"memory", "search", "one", "--timeout", "300ms"});
    spec.env.push_back("HOLDFAST_MEMORY=" + silent);
    const auto done = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_TRUE(done->status.exited_with(75)) << done->err;
    EXPECT_NE(done->err.find("waited 300 ms for the memory at"), std::string::npos) << done->err;
    EXPECT_NE(done->err.find("--timeout"), std::string::npos) << done->err;
    EXPECT_EQ(done->err.find("holdfast stop"), std::string::npos) << "there is none: " << done->err;

    // With an owner: what it says to do ends that.
    start_daemon();
    ASSERT_FALSE(HasFatalFailure());
    const auto owned = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(owned) << owned.error().message;
    EXPECT_TRUE(owned->status.exited_with(75)) << owned->err;
    constexpr std::string_view program = "with: holdfast stop ";
    const auto at = owned->err.find(program);
    ASSERT_NE(at, std::string::npos) << owned->err;
    std::vector<std::string> words{"stop"};
    std::istringstream rest(owned->err.substr(at + program.size()));
    for (std::string word; rest >> word;)
        words.push_back(word);
    const auto stopped = run_to_end(home.command(words), Deadline::in(patience));
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_TRUE(stopped->status.exited_with(0)) << stopped->err;
    EXPECT_TRUE(daemon.wait(Deadline::in(patience)));
}

} // namespace

} // namespace holdfast::harness
