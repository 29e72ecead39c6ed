// Figures over the program's own stdio, by a client that costs next to nothing itself.
#include "memory/made_up.hpp"
#include "memory/measures.hpp"
#include "memory/recall/recall.hpp"
#include "memory/store/schema.hpp"
#include "stage/placing.hpp"
#include "stage/stage.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"

#include <filesystem>
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
    return json::serialize(json::object{
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

void measure_memory_start(int rounds) {
    std::vector<double> starts;
    std::vector<double> attaches;
    std::vector<double> takeovers;
    std::vector<double> programs;
    double owner_mb = 0;
    double attached_mb = 0;
    const auto health = request(1, "core.health");
    for (int i = 0; i < rounds; ++i) {
        const TempHome home;
        const double program = now_ms();
        if (std::system("/bin/true") != 0)
            give_up("/bin/true fails");
        programs.push_back(now_ms() - program);
        double begun = now_ms();
        auto owner = std::make_unique<MemoryProcess>(home.path());
        (void)round_trip(*owner, health);
        starts.push_back(now_ms() - begun);
        (void)round_trip(*owner, request(2, "memory.list_traces")); // the store is open
        begun = now_ms();
        MemoryProcess second(home.path());
        (void)round_trip(second, health);
        attaches.push_back(now_ms() - begun);
        owner_mb = resident_mb(owner->pid());
        attached_mb = resident_mb(second.pid());
        begun = now_ms();
        ::kill(owner->pid(), SIGKILL);
        (void)round_trip(second, request(3, "memory.list_traces"));
        takeovers.push_back(now_ms() - begun);
        (void)owner->wait();
        end(second);
    }
    row("spawn to first answer, p50; beside a shell that runs `true`", quantile(starts, 0.5),
        quantile(programs, 0.5), "ms", "under 20 ms");
    row("spawn to first answer of a second process, which attaches, p50", quantile(attaches, 0.5), -1, "ms",
        "");
    row("owner killed to an attached client's next read from the store, p50", quantile(takeovers, 0.5), -1,
        "ms", "");
    row("resident, idle", owner_mb, -1, "MB", "under 12 MB");
    row("resident, attached", attached_mb, -1, "MB", "");
}

void measure_cheap_call(int rounds) {
    const Echo echo; // first: a fork has all that is open, and would hold the others' pipes open
    const TempHome home;
    MemoryProcess owner(home.path());
    open_episode(owner);
    MemoryProcess second(home.path());
    const auto health = request(1, "core.health");
    (void)round_trip(second, health);
    constexpr int block = 200;
    const Ends owners{owner.in_fd(), owner.out_fd()};
    const Ends seconds{second.in_fd(), second.out_fd()};
    for (const Placing placing : placings()) {
        const Placed placed(placing, {echo.pid(), owner.pid(), second.pid()});
        std::vector<double> calls;
        std::vector<double> attached;
        std::vector<double> bare;
        const auto measure = [&](const Ends& ends, std::vector<double>& figures) {
            for (int i = 0; i < block; ++i)
                figures.push_back(plain_round_trip(ends, health) * 1000);
        };
        // In blocks, so that what else the machine does meets all of them alike.
        for (int done = 0; done < rounds; done += block) {
            measure(echo.ends(), bare);
            measure(owners, calls);
            measure(seconds, attached);
        }
        row("`core.health`, " + words_of(placing) + ", p50; beside a bare pipe echo", quantile(calls, 0.5),
            quantile(bare, 0.5), "µs", "at most +20 µs");
        row("the same by an attached client", quantile(attached, 0.5), quantile(bare, 0.5), "µs",
            "at most +20 µs");
    }
    end(second);
    end(owner);
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

void measure_turns(int turns) {
    const TempHome home;
    MemoryProcess memory(home.path());
    open_episode(memory);
    ZipfWords words(5);
    // The same rows by the plainest means: the same tables and words' index, one process, one thread, no
    // JSON.
    const auto raw_path = home.file("raw.db");
    auto raw = Database::open(raw_path, OpenMode::read_write_create);
    if (!raw || !raw->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL") ||
        !migrate(*raw, raw_path, migrations(), [](int, int, const char*) {}) ||
        !raw->exec("INSERT INTO sessions(id, agent, opened_at) VALUES('s', 'a', 1);"
                   "INSERT INTO episodes(id, session, opened_at) VALUES('e', 1, 1)"))
        give_up("no raw database");
    std::vector<double> ends;
    std::vector<double> commits;
    constexpr int timed = 1000;
    for (int i = 0; i < timed; ++i) {
        const auto a = words.text(12);
        const auto b = words.text(38);
        const auto id = make_id("tr_");
        const double begun = now_ms();
        (void)raw->exec("BEGIN IMMEDIATE");
        auto insert = raw->prepare(
            "INSERT INTO traces(id, session, episode, ts, kind, user_text, agent_text, tool_calls)"
            " VALUES(?1, 1, 1, ?2, 'turn', ?3, ?4, '[]')");
        (void)(*insert)->bind(1, id).bind(2, i).bind(3, a).bind(4, b).run();
        (void)raw->exec("UPDATE episodes SET turns=turns+1; UPDATE state SET traces=traces+1; COMMIT");
        commits.push_back(now_ms() - begun);
        ends.push_back(round_trip(memory, request(i, "turn.end", turn(words, i))));
    }
    row("`turn.end` over stdio, p50; beside a raw durable commit of the same rows", quantile(ends, 0.5),
        quantile(commits, 0.5), "ms", "at most 2x");
    // The rest in packs, as fast as it goes.
    constexpr int pack = 500;
    const double begun = now_ms();
    for (int done = timed; done < turns; done += pack) {
        std::string lines;
        for (int i = done; i < done + pack; ++i)
            lines += request(i, "turn.end", turn(words, i));
        memory.write(lines);
        for (int i = 0; i < pack; ++i)
            if (!memory.line())
                give_up("a turn was not answered");
    }
    const double per_second = (turns - timed) / (now_ms() - begun) * 1000;
    (void)memory.call("memory.search", {{"query", words.text(3)}});
    row("turns a second, one client, 500 at a time", per_second, -1, "/s", "");
    row("resident after " + std::to_string(turns) + " turns", resident_mb(memory.pid()), -1, "MB",
        "under 40 MB after 100,000");
    end(memory);
}

void measure_long_text(int rounds) {
    constexpr std::size_t size = std::size_t{15} << 20;
    const TempHome home;
    MemoryProcess memory(home.path());
    open_episode(memory);
    ZipfWords words(7);
    std::string text;
    while (text.size() < size)
        text += words.text(1000) + ".\n";
    const auto raw_path = home.file("raw.db");
    auto raw = Database::open(raw_path, OpenMode::read_write_create);
    if (!raw || !raw->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(text TEXT)"))
        give_up("no raw database");
    std::vector<double> stored;
    std::vector<double> commits;
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    for (int i = 0; i < rounds; ++i) {
        text += static_cast<char>('a' + i % 26); // another text each time: the same turn is not stored twice
        auto what = turn(words, i);
        what["agentText"] = text;
        const auto line = request(i, "turn.end", std::move(what));
        stored.push_back(megabytes / round_trip(memory, line) * 1000);
        const double begun = now_ms();
        auto insert = raw->prepare("INSERT INTO t VALUES(?1)");
        (void)(*insert)->bind(1, text).run();
        commits.push_back(megabytes / (now_ms() - begun) * 1000);
    }
    row("one text of 15 MiB stored by `turn.end`, p50; beside a raw durable commit of it, without any index",
        quantile(stored, 0.5), quantile(commits, 0.5), "MB/s", "at least 20 MB/s");
    end(memory);
}

void measure_recall(int traces, const char* aim) {
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
    double begun = now_ms();
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
    auto raw = Database::open(home.file("raw.db"), OpenMode::read_write_create);
    if (!raw || !raw->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                           "CREATE TABLE t(a INTEGER); INSERT INTO t VALUES(1)"))
        give_up("no raw database");
    for (const auto& trace : listed.at("result").at("traces").as_array()) {
        begun = now_ms();
        (void)raw->exec("UPDATE t SET a=a+1");
        raw_updates.push_back(now_ms() - begun);
        updates.push_back(round_trip(memory, request(1, "feedback.submit",
                                                     {{"traceId", trace.at("id")},
                                                      {"channel", "explicit"},
                                                      {"polarity", "positive"},
                                                      {"magnitude", 0.5}})));
    }
    const auto size = std::to_string(traces) + " traces";
    row("`turn.start` over stdio at " + size + ", p50 (it commits, too)", quantile(starts, 0.5), -1, "ms",
        aim);
    row("one-row update (`feedback.submit`, durable) at " + size + ", p50; beside a raw one",
        quantile(updates, 0.5), quantile(raw_updates, 0.5), "ms", "under 1 ms");
    row("spawn to the first read from the store at " + size, open_ms, -1, "ms", "");
    row("resident at " + size + ", after 300 recalls", resident_mb(memory.pid()), -1, "MB", "");
    end(memory);
}

} // namespace holdfast::bench
