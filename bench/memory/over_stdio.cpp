// Figures over the program's own stdio, by a client that costs next to nothing itself.
#include "memory/made_up.hpp"
#include "memory/measures.hpp"
#include "memory/recall/recall.hpp"
#include "memory/repository/schema.hpp"
#include "stage/placing.hpp"
#include "stage/stage.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "json/json_write.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

namespace holdfast::bench {

namespace {

using test::MemoryProcess;
using test::TempHome;
namespace json = holdfast::json;

double resident_mb(int pid) {
    const auto status = TempHome::read_path("/proc/" + std::to_string(pid) + "/status");
    return static_cast<double>(std::strtol(status.c_str() + status.find("VmRSS:") + 6, nullptr, 10)) / 1024;
}

std::string request(std::int64_t id, const char* method, json::object params = {}) {
    return json::to_text(json::object{
               {"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}}) +
           "\n";
}

// One request whose text is ready, to its answer, unparsed.
double round_trip(MemoryProcess& memory, const std::string& line) {
    const double begun = now_ms();
    memory.write(line);
    const auto answer = memory.line();
    const double taken = now_ms() - begun;
    if (!answer || answer->find("\"error\"") != answer->npos)
        give_up("the memory helper answered " + answer.value_or("nothing"));
    return taken;
}

json::object turn(ZipfWords& words, std::int64_t number) {
    return {{"agent", "bench"},
            {"sessionId", "se_bench"},
            {"episodeId", "ep_bench"},
            {"userText", words.text(12)},
            {"agentText", words.text(38)},
            {"toolCalls", json::array()},
            {"ts", 1'700'000'000'000 + number}};
}

void open_episode(MemoryProcess& memory) {
    if (!memory.call("session.open", {{"agent", "bench"}, {"sessionId", "se_bench"}}).contains("result") ||
        !memory.call("episode.open", {{"sessionId", "se_bench"}, {"episodeId", "ep_bench"}})
             .contains("result"))
        give_up("no episode could be opened");
}

void end(MemoryProcess& memory) {
    memory.close_input();
    if (memory.wait() != 0)
        give_up("the memory helper did not end well");
}

// Two pipes, and the plainest client there is: the same for the helper and for what is beside it, so that
// they differ only in who answers.
struct Ends {
    int in = -1;
    int out = -1;
};
double plain_round_trip(const Ends& ends, const std::string& line) {
    char bytes[4096];
    const double begun = now_ms();
    (void)!::write(ends.in, line.data(), line.size());
    for (;;) {
        const auto n = ::read(ends.out, bytes, sizeof bytes);
        if (n <= 0)
            give_up("no answer");
        if (bytes[n - 1] == '\n')
            return now_ms() - begun;
    }
}

// A child that sends back what it reads: what two pipes and two switches cost by themselves.
class Echo {
public:
    Echo() {
        int in[2];
        int out[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
            give_up("no pipe");
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(in[1]);
            char bytes[4096];
            for (ssize_t n = 0; (n = ::read(in[0], bytes, sizeof bytes)) > 0;)
                (void)!::write(out[1], bytes, static_cast<std::size_t>(n));
            ::_exit(0);
        }
        ::close(in[0]);
        ::close(out[1]);
        in_ = in[1];
        out_ = out[0];
    }
    ~Echo() {
        ::close(in_);
        ::close(out_);
        ::waitpid(pid_, nullptr, 0);
    }
    Echo(const Echo&) = delete;
    Echo& operator=(const Echo&) = delete;
    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] Ends ends() const { return {in_, out_}; }

private:
    pid_t pid_ = -1;
    int in_ = -1;
    int out_ = -1;
};

} // namespace

namespace {

// The program of a build, without its viewer.
struct Helper : MemoryProcess {
    Helper(const Programs& programs, const TempHome& home, const std::vector<std::string>& launcher = {})
        : MemoryProcess(home.path(), {}, {}, -1, launcher, programs.path("holdfast-memory")) {}
};

// A figure without a baseline of its own: alone, or beside that of another commit.
void row_of(const Run& run, const PairRow& row, int rounds,
            const std::function<double(const Programs&)>& ours) {
    if (run.other)
        return pair_row(run, row, rounds, ours, {});
    std::vector<double> figures;
    (void)ours(run.ours);
    for (int i = 0; i < rounds; ++i)
        figures.push_back(ours(run.ours));
    value_row(row.what + ", p50", quantile(figures, 0.5), row.unit, row.ours_at_most);
}

double shell_time() {
    const double begun = now_ms();
    if (std::system("/bin/true") != 0)
        give_up("/bin/true fails");
    return now_ms() - begun;
}

} // namespace

void measure_memory_start(const Run& run, int rounds) {
    const auto health = request(1, "core.health");
    const auto read = request(2, "memory.list_traces");
    pair_row(
        run,
        {.what = "spawn to first answer",
         .beside = "a shell that runs `true`",
         .unit = "ms",
         .ours_at_most = 20},
        rounds,
        [&](const Programs& programs) {
            const TempHome home;
            const double begun = now_ms();
            Helper owner(programs, home);
            (void)round_trip(owner, health);
            const double took = now_ms() - begun;
            end(owner);
            return took;
        },
        shell_time);
    double owner_mb = 0;
    double attached_mb = 0;
    row_of(run,
           {.what = "spawn to first answer of a second process, which attaches", .beside = "", .unit = "ms"},
           rounds, [&](const Programs& programs) {
               const TempHome home;
               Helper owner(programs, home);
               (void)round_trip(owner, read); // the store is open
               const double begun = now_ms();
               Helper second(programs, home);
               (void)round_trip(second, health);
               const double took = now_ms() - begun;
               owner_mb = resident_mb(owner.pid());
               attached_mb = resident_mb(second.pid());
               end(second);
               end(owner);
               return took;
           });
    row_of(
        run,
        {.what = "owner killed to an attached client's next read from the store", .beside = "", .unit = "ms"},
        rounds, [&](const Programs& programs) {
            const TempHome home;
            Helper owner(programs, home);
            (void)round_trip(owner, read);
            Helper second(programs, home);
            (void)round_trip(second, health);
            const double begun = now_ms();
            ::kill(owner.pid(), SIGKILL);
            (void)round_trip(second, read);
            const double took = now_ms() - begun;
            (void)owner.wait();
            end(second);
            return took;
        });
    if (run.other)
        return;
    value_row("resident, idle", owner_mb, "MB", 12);
    value_row("resident, attached", attached_mb, "MB", {});
}

// Each block gives one figure, so that a pair is two blocks within milliseconds.
void measure_cheap_call(const Run& run, int rounds) {
    struct Side {
        explicit Side(const Programs& programs)
            : owner(programs, home)
            , second(programs, home) {
            open_episode(owner);
            (void)round_trip(second, request(1, "core.health"));
        }
        TempHome home;
        Helper owner;
        Helper second;
    };
    const Echo echo; // first: a fork has all that is open, and would hold the others' pipes open
    std::map<std::string, Side> sides;
    std::vector<pid_t> partners{echo.pid()};
    const auto add = [&](const Programs& programs) {
        const Side& side = sides.try_emplace(programs.directory, programs).first->second;
        partners.insert(partners.end(), {side.owner.pid(), side.second.pid()});
    };
    add(run.ours);
    if (run.other)
        add(*run.other);
    const auto health = request(1, "core.health");
    const auto block = [&](const Ends& ends) {
        std::vector<double> trips;
        for (int i = 0; i < 200; ++i)
            trips.push_back(plain_round_trip(ends, health) * 1000);
        return quantile(trips, 0.5);
    };
    for (const Placing placing : placings()) {
        const Placed placed(placing, partners);
        const auto row = [&](const std::string& what, Helper Side::* which) {
            pair_row(
                run, {.what = what, .beside = "a bare pipe echo", .unit = "µs", .more_at_most = 20}, rounds,
                [&](const Programs& programs) {
                    const Helper& helper = sides.at(programs.directory).*which;
                    return block({helper.in_fd(), helper.out_fd()});
                },
                [&] { return block(echo.ends()); });
        };
        row("`core.health`, " + words_of(placing), &Side::owner);
        row("the same by an attached client", &Side::second);
    }
    for (auto& [directory, side] : sides) {
        end(side.second);
        end(side.owner);
    }
}

void measure_cheap_call_scheduled(int pairs) {
    struct Pair {
        Echo echo; // first, as above
        TempHome home;
        MemoryProcess memory{home.path()};
        Ends ends{memory.in_fd(), memory.out_fd()};
    };
    measure_draws("`core.health`", pairs, "at most +20 µs", [] {
        const auto pair = std::make_shared<Pair>();
        open_episode(pair->memory);
        const auto health = request(1, "core.health");
        return DrawnPair{[pair, health] { (void)plain_round_trip(pair->ends, health); },
                         [pair, health] { (void)plain_round_trip(pair->echo.ends(), health); }};
    });
}

namespace {

// System calls of the helper for one turn: the difference between many and few, divided.
double calls_of_a_turn(const Programs& programs) {
    const auto calls = [&](int turns) {
        const TempHome home;
        const auto trace = home.file("trace");
        // -D: the tracer is a grandchild, and the helper our child.
        Helper helper(programs, home, {"/usr/bin/strace", "-D", "-f", "-qq", "-o", trace});
        open_episode(helper);
        ZipfWords words(5);
        for (int i = 0; i < turns; ++i)
            (void)round_trip(helper, request(i, "turn.end", turn(words, i)));
        end(helper);
        // The tracer is behind the helper: it is done when it has seen the last call.
        std::string text;
        if (!harness::eventually(harness::Deadline::in(patience), [&] {
                text = TempHome::read_path(trace);
                return text.find(" exit_group(") != text.npos;
            }))
            give_up("strace counted nothing");
        return static_cast<double>(std::ranges::count(text, '\n'));
    };
    constexpr int few = 10;
    constexpr int many = 110;
    return (calls(many) - calls(few)) / (many - few);
}

} // namespace

void measure_turns(const Run& run, int turns) {
    struct Side {
        explicit Side(const Programs& programs)
            : memory(programs, home) {
            open_episode(memory);
        }
        TempHome home;
        Helper memory;
    };
    std::map<std::string, Side> sides;
    const auto side = [&](const Programs& programs) -> Side& {
        return sides.try_emplace(programs.directory, programs).first->second;
    };
    ZipfWords words(5);
    // The same rows by the plainest means: the same tables and words' index, one process, one thread, no
    // JSON.
    const auto raw_path = side(run.ours).home.file("raw.db");
    auto raw = open_database(raw_path, OpenMode::read_write_create);
    if (!raw || !raw->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL") ||
        !migrate(*raw, raw_path, migrations(), [](int, int, const char*) {}) ||
        !raw->exec("INSERT INTO sessions(id, agent, opened_at) VALUES('s', 'a', 1);"
                   "INSERT INTO episodes(id, session, opened_at) VALUES('e', 1, 1)"))
        give_up("no raw database");
    constexpr int timed = 1000;
    int number = 0;
    pair_row(
        run,
        {.what = "`turn.end` over stdio",
         .beside = "a raw durable commit of the same rows",
         .unit = "ms",
         .at_most = 2},
        timed,
        [&](const Programs& programs) {
            ++number;
            return round_trip(side(programs).memory, request(number, "turn.end", turn(words, number)));
        },
        [&] {
            const auto a = words.text(12);
            const auto b = words.text(38);
            const auto id = make_id("tr_");
            const double begun = now_ms();
            (void)raw->exec("BEGIN IMMEDIATE");
            auto insert = raw->prepare(
                "INSERT INTO traces(id, session, episode, ts, kind, user_text, agent_text, tool_calls)"
                " VALUES(?1, 1, 1, ?2, 'turn', ?3, ?4, '[]')");
            (void)(*insert)->bind(1, id).bind(2, ++number).bind(3, a).bind(4, b).run();
            (void)raw->exec("UPDATE episodes SET turns=turns+1; UPDATE state SET traces=traces+1; COMMIT");
            return now_ms() - begun;
        });
    count_row(run, "... system calls of the helper", calls_of_a_turn, [] { return std::optional<double>(); });
    // The rest in packs, as fast as it goes.
    constexpr int pack = 500;
    if (!run.other) {
        MemoryProcess& memory = side(run.ours).memory;
        const double begun = now_ms();
        for (int done = timed; done < turns; done += pack) {
            std::string lines;
            for (int i = 0; i < pack; ++i)
                lines += request(i, "turn.end", turn(words, ++number));
            memory.write(lines);
            for (int i = 0; i < pack; ++i)
                if (!memory.line())
                    give_up("a turn was not answered");
        }
        const double per_second = (turns - timed) / (now_ms() - begun) * 1000;
        (void)memory.call("memory.search", {{"query", words.text(3)}});
        value_row("turns a second, one client, 500 at a time", per_second, "/s", {});
        value_row("resident after " + std::to_string(turns) + " turns", resident_mb(memory.pid()), "MB", 40);
    }
    for (auto& [directory, one] : sides)
        end(one.memory);
}

void measure_long_text(const Run& run, int rounds) {
    constexpr std::size_t size = std::size_t{15} << 20;
    struct Side {
        explicit Side(const Programs& programs)
            : memory(programs, home) {
            open_episode(memory);
        }
        TempHome home;
        Helper memory;
    };
    std::map<std::string, Side> sides;
    ZipfWords words(7);
    std::string text;
    while (text.size() < size)
        text += words.text(1000) + ".\n";
    const TempHome raw_home;
    const auto raw_path = raw_home.file("raw.db");
    auto raw = open_database(raw_path, OpenMode::read_write_create);
    if (!raw || !raw->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(text TEXT)"))
        give_up("no raw database");
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    int number = 0;
    pair_row(
        run,
        {.what = "one text of 15 MiB stored by `turn.end` (50 ms/MB are 20 MB/s)",
         .beside = "a raw durable commit of it, without any index",
         .unit = "ms/MB",
         .ours_at_most = 50},
        rounds,
        [&](const Programs& programs) {
            Side& side = sides.try_emplace(programs.directory, programs).first->second;
            auto what = turn(words, ++number);
            text += static_cast<char>('a' + number % 26); // the same turn would not be stored twice
            what["agentText"] = text;
            return round_trip(side.memory, request(number, "turn.end", std::move(what))) / megabytes;
        },
        [&] {
            const double begun = now_ms();
            auto insert = raw->prepare("INSERT INTO t VALUES(?1)");
            (void)(*insert)->bind(1, text).run();
            return (now_ms() - begun) / megabytes;
        });
    for (auto& [directory, side] : sides)
        end(side.memory);
}

void measure_recall(const Run& run, int traces, double start_at_most) {
    const TempHome home;
    ZipfWords words(1);
    {
        std::filesystem::create_directories(home.path() + "/data");
        Recall* recall = nullptr;
        StoreOptions options;
        options.path = home.file("data/memory.db");
        options.on_changes = [&](const RowChanges& changes) {
            if (recall != nullptr)
                recall->committed(changes);
        };
        auto store = Store::open(options, [](const Progress&) {});
        auto opened = store ? Recall::open(**store, home.file("data/index"), [](const Progress&) {})
                            : std::unexpected(store.error());
        if (!opened)
            give_up(opened.error().message);
        recall = opened->get();
        for (int done = 0; done < traces; done += 500)
            if (!(*store)->write([&](WriteContext& context) -> Result<void> {
                    for (int i = done; i < done + 500; ++i)
                        if (auto added = add_made_up(context, words, i, 1'700'000'000'000); !added)
                            return added;
                    return {};
                }))
                give_up("the store could not be filled");
        recall->wait_indexed(3'600'000);
        recall->close();
        (*store)->close();
    }
    const double begun = now_ms();
    MemoryProcess memory(home.path());
    const auto listed = memory.call("memory.list_traces", {{"limit", 200}});
    const double open_ms = now_ms() - begun;
    if (!listed.contains("result"))
        give_up("the store does not open");
    open_episode(memory);
    std::vector<double> starts;
    for (int i = 0; i < 300; ++i)
        starts.push_back(round_trip(memory, request(i, "turn.start",
                                                    {{"agent", "bench"},
                                                     {"sessionId", "se_bench"},
                                                     {"userText", words.text(8)},
                                                     {"ts", 1'800'000'000'000 + i}})));
    std::vector<double> updates;
    std::vector<double> raw_updates; // one row of a table of its own, by the plainest means, on the same disk
    auto raw = open_database(home.file("raw.db"), OpenMode::read_write_create);
    if (!raw || !raw->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                           "CREATE TABLE t(a INTEGER); INSERT INTO t VALUES(1)"))
        give_up("no raw database");
    const auto size = std::to_string(traces) + " traces";
    value_row("`turn.start` over stdio at " + size + ", p50 (it commits, too)", quantile(starts, 0.5), "ms",
              start_at_most);
    const auto& all = listed.at("result").at("traces").as_array();
    std::size_t judged = 0;
    pair_row(
        run,
        {.what = "one-row update (`feedback.submit`, durable) at " + size,
         .beside = "a raw one",
         .unit = "ms",
         .ours_at_most = 1},
        static_cast<int>(all.size()) - 1,
        [&](const Programs&) {
            return round_trip(memory, request(1, "feedback.submit",
                                              {{"traceId", all.at(judged++).at("id")},
                                               {"channel", "explicit"},
                                               {"polarity", "positive"},
                                               {"magnitude", 0.5}}));
        },
        [&] {
            const double began = now_ms();
            (void)raw->exec("UPDATE t SET a=a+1");
            return now_ms() - began;
        });
    value_row("spawn to the first read from the store at " + size, open_ms, "ms", {});
    value_row("resident at " + size + ", after 300 recalls", resident_mb(memory.pid()), "MB", {});
    end(memory);
}

} // namespace holdfast::bench
