// What it costs that the owner looks at its log around each commit: counted, and timed beside a raw commit.
#include "database/watched_vfs.hpp"
#include "memory/measures.hpp"
#include "memory/repository/schema.hpp"
#include "memory/writer/store.hpp"
#include "stage/counts.hpp"
#include "stage/stage.hpp"
#include "support/memory_home.hpp"

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <regex>
#include <sstream>

namespace holdfast::bench {

namespace {

using namespace memory;
using test::TempHome;

constexpr const char* change = "INSERT INTO settings(name, value) VALUES(hex(randomblob(8)), 'x');"
                               "UPDATE state SET sessions=sessions+1";

Database raw_database(const std::string& path) {
    auto raw = open_database(path, OpenMode::read_write_create);
    if (!raw || !raw->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0") ||
        !migrate(*raw, path, migrations(), [](int, int, const char*) {}))
        give_up("no raw database");
    return std::move(*raw);
}

void raw_commit(Database& raw) {
    if (!raw.exec(std::string("BEGIN IMMEDIATE;") + change + ";COMMIT"))
        give_up("a raw commit fails");
}

harness::SpawnSpec commits(const std::string& kind, int number, const std::string& folder) {
    harness::SpawnSpec spec;
    spec.argv = {std::filesystem::read_symlink("/proc/self/exe"), "--commits", kind, std::to_string(number),
                 folder};
    return spec;
}

// Of one commit: the difference between many and few, divided.
template <class Count>
double of_one(Count count_of) {
    constexpr int few = 10;
    constexpr int many = 110;
    return (count_of(many) - count_of(few)) / (many - few);
}

double calls_of_a_commit(const std::string& kind) {
    return of_one([&](int number) {
        const TempHome home;
        return count(commits(kind, number, home.path())).calls;
    });
}

// A stat by a path, which SQLite asks for no open database, and a read of the eight bytes by which a log is
// known.
double looks_of_a_commit() {
    return of_one([](int number) {
        const TempHome home;
        auto spec = commits("store", number, home.path());
        const auto trace = home.file("trace");
        const std::vector<std::string> strace{
            "/usr/bin/strace", "-f", "-qq", "-e", "trace=stat,newfstatat,pread64", "-o", trace};
        spec.argv.insert(spec.argv.begin(), strace.begin(), strace.end());
        const auto done = harness::run_to_end(spec, harness::Deadline::in(patience));
        if (!done || !done->status.exited_with(0))
            give_up("the commits could not be counted");
        std::istringstream text(TempHome::read_path(trace));
        const std::regex look("stat.*\"[^\"]*memory\\.db(-wal)?\"|pread64\\(.*, 8, 16\\)");
        double looks = 0;
        for (std::string line; std::getline(text, line);)
            looks += std::regex_search(line, look) ? 1 : 0;
        return looks;
    });
}

} // namespace

int make_commits(const std::string& kind, int number, const std::string& folder) {
    const auto path = folder + "/memory.db";
    if (kind == "raw") {
        auto raw = raw_database(path);
        for (int i = 0; i < number; ++i)
            raw_commit(raw);
        return 0;
    }
    StoreOptions options;
    options.path = path;
    auto store = Store::open(options, [](const Progress&) {});
    if (!store)
        give_up(store.error().message);
    for (int i = 0; i < number; ++i)
        if (!(*store)->write([](WriteContext& context) { return context.database.exec(change); }))
            give_up("a commit fails");
    return 0;
}

void measure_log_watch(const Run& run, int rounds) {
    count_row(
        run, "system calls of one commit of the store; beside a raw durable commit of the same rows",
        [](const Programs&) { return calls_of_a_commit("store"); },
        [] { return std::optional(calls_of_a_commit("raw")); });
    value_row("... of these, looks at the database and its log", looks_of_a_commit(), "", 4);
    const TempHome home;
    sys::Fd log;
    database::LogWatch watch;
    const auto path = home.file("raw.db");
    auto raw = raw_database(path);
    auto watched = [&] {
        const database::LogCapture capture(log);
        auto opened = open_database(path, OpenMode::read_write, database::watched_vfs());
        if (!opened || !opened->scalar("SELECT count(*) FROM state"))
            give_up("no second connection");
        return std::move(*opened);
    }();
    if (!watch.attach(watched, std::move(log), path + "-wal"))
        give_up("the log cannot be looked at");
    std::vector<double> looks;
    std::vector<double> commit_times;
    for (int i = 0; i < rounds; ++i) {
        double begun = now_ms();
        raw_commit(raw);
        commit_times.push_back((now_ms() - begun) * 1000);
        // As Store::need_own_files does before a commit, and after it.
        begun = now_ms();
        struct stat database{};
        const bool sound = watch.look(database::LogWatch::Part::place) == database::LogState::sound &&
                           ::stat(path.c_str(), &database) == 0 && watch.look() == database::LogState::sound;
        looks.push_back((now_ms() - begun) * 1000);
        if (!sound)
            give_up("the log is not sound");
    }
    pair_row_of({.what = "... time of these looks", .beside = "that commit", .unit = "µs", .at_most = 0.05},
                looks, commit_times);
    watch.detach();
}

} // namespace holdfast::bench
