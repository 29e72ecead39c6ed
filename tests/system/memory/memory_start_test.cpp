// G7: however long a store takes to open, health is answered, progress is told, nobody is killed, one process
// owns it.
#include "harness/eventually.hpp"
#include "holdfast/slot.hpp"
#include "support/memory_home.hpp"
#include "support/memory_leftover.hpp"
#include "support/memory_process.hpp"
#include "support/terminal.hpp"
#include "sys/notify.hpp"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::test {
namespace {

namespace json = boost::json; // not ours: a second opinion

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* given = std::getenv(name);
    return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

struct Patience {
    std::set<std::int64_t> owners;
    std::set<std::string> phases;
    std::vector<std::uint64_t> bytes; // of the log, as told while it was being read, in that order
    std::set<std::uint64_t> totals;
    int starters = 0;
    int asked = 0;
};

// A starter every `pause`, each asking for health all the time, until the store is ready. Nobody may be
// killed.
Patience be_patient(const TempHome& home, std::chrono::milliseconds pause,
                    const std::vector<std::string>& launcher = {}) {
    Patience seen;
    std::vector<std::unique_ptr<MemoryProcess>> starters;
    const auto begun = std::chrono::steady_clock::now();
    auto next_start = begun;
    for (bool ready = false; !ready;) {
        if (std::chrono::steady_clock::now() >= next_start && starters.size() < 24) {
            starters.push_back(std::make_unique<MemoryProcess>(home.path(), std::vector<std::string>{},
                                                               std::vector<std::string>{}, -1, launcher));
            next_start += pause;
        }
        for (auto& starter : starters) {
            const auto answer = starter->call("core.health");
            if (!answer.contains("result")) {
                ADD_FAILURE() << "health was not answered";
                return seen;
            }
            const auto& health = answer.at("result").as_object();
            seen.owners.insert(health.at("pid").as_int64());
            seen.phases.insert(std::string(health.at("phase").as_string()));
            if (health.at("phase") == "recovering" && health.contains("progress")) {
                seen.bytes.push_back(health.at("progress").at("done").to_number<std::uint64_t>());
                seen.totals.insert(health.at("progress").at("total").to_number<std::uint64_t>());
            }
            ++seen.asked;
            ready |= health.at("phase") == "ready" || health.at("phase") == "indexing";
            EXPECT_EQ(health.at("ok"), true);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    seen.starters = static_cast<int>(starters.size());
    const auto took = std::chrono::steady_clock::now() - begun;
    std::printf("%d starters, %d times health, %zu owner; the store was there after %.1f s\n", seen.starters,
                seen.asked, seen.owners.size(), std::chrono::duration<double>(took).count());
    // Now all of them are served; then they leave, each by itself.
    for (auto& starter : starters) {
        EXPECT_TRUE(
            starter->call("session.open", {{"agent", "a"}, {"sessionId", "late"}}).contains("result"));
        EXPECT_TRUE(starter->others.empty());
    }
    for (auto& starter : starters)
        starter->close_input();
    for (auto& starter : starters)
        EXPECT_EQ(starter->wait(), 0);
    return seen;
}

TEST(G7Patience, a_slow_store_with_starters_coming_all_the_time) {
    const TempHome home;
    leave_store(home, 1, 8);
    const auto log_size = home.size("data/memory.db-wal");
    const auto slow_ms = from_environment("HOLDFAST_SLOW_MS", 3000);
    const auto begun = std::chrono::steady_clock::now();
    const auto seen = be_patient(home, std::chrono::milliseconds(slow_ms / 12), on_slow_disk(slow_ms));
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(slow_ms))
        << "negative control: the disk was not slow";
    EXPECT_EQ(seen.owners.size(), 1U) << "one owner";
    // What was told is what the disk had given: the bytes of the log, growing in small steps up to its size.
    EXPECT_TRUE(seen.phases.contains("recovering"));
    EXPECT_EQ(seen.totals, std::set<std::uint64_t>{log_size});
    EXPECT_TRUE(std::ranges::is_sorted(seen.bytes));
    EXPECT_GT(std::set<std::uint64_t>(seen.bytes.begin(), seen.bytes.end()).size(), 30U);
    ASSERT_FALSE(seen.bytes.empty());
    EXPECT_LT(seen.bytes.front(), log_size / 4);
    EXPECT_GT(seen.bytes.back(), log_size / 4 * 3);
    EXPECT_GT(seen.starters, 3);
    EXPECT_GT(seen.asked, 50);
}

TEST(G7Patience, a_large_store_with_a_large_leftover_log_is_an_ordinary_start) {
    const TempHome home;
    const auto wal_mb = from_environment("HOLDFAST_WAL_MB", 24);
    leave_store(home, from_environment("HOLDFAST_STORE_MB", 40), wal_mb);
    ASSERT_GE(home.size("data/memory.db-wal"), wal_mb << 20);
    const auto seen =
        be_patient(home, std::chrono::milliseconds(from_environment("HOLDFAST_START_EVERY_MS", 20)));
    EXPECT_EQ(seen.owners.size(), 1U) << "one owner";
    EXPECT_GT(seen.asked, 0);
    EXPECT_TRUE(std::ranges::is_sorted(seen.bytes));
}

// What the service manager above hears, in order.
std::vector<std::string> heard(const sys::NotifySocket& socket) {
    std::vector<std::string> all;
    while (all.empty() || all.back().find("READY=1") == std::string::npos) {
        pollfd ready{socket.fd(), POLLIN, 0};
        if (::poll(&ready, 1, static_cast<int>(patient(Millis{30'000}).count())) != 1)
            break;
        while (auto message = socket.next())
            all.push_back(std::move(*message));
    }
    return all;
}

TEST(G7Patience, the_phases_are_told_to_the_service_manager_and_stand_in_the_record) {
    const TempHome home;
    leave_store(home, 1, 8);
    const auto log_size = (home.size("data/memory.db-wal") + (1U << 19)) >> 20;
    auto above = sys::NotifySocket::open();
    ASSERT_TRUE(above);
    MemoryProcess memory(home.path(), {}, {"NOTIFY_SOCKET=" + above->address()}, -1, on_slow_disk(400));
    const auto messages = heard(*above);
    ASSERT_GE(messages.size(), 3U);
    const auto has = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    bool recovering = false;
    bool log_bytes = false;
    for (std::size_t i = 0; i + 1 < messages.size(); ++i) {
        EXPECT_FALSE(has(messages[i], "READY=1"));
        EXPECT_TRUE(has(messages[i], "STATUS=")) << messages[i];
        EXPECT_TRUE(has(messages[i], "EXTEND_TIMEOUT_USEC=")) << messages[i];
        EXPECT_TRUE(has(messages[i], "HOLDFAST_PROGRESS=")) << messages[i];
        recovering |= has(messages[i], "STATUS=recovering");
        log_bytes |= has(messages[i], (" of " + std::to_string(log_size) + " MB").c_str());
    }
    EXPECT_TRUE(recovering);
    EXPECT_TRUE(log_bytes) << "the bytes of the log";
    EXPECT_TRUE(has(messages.back(), "READY=1")) << messages.back();
    const auto seen = query({home.path(), "memory"});
    ASSERT_TRUE(seen);
    // An attached process tells its own manager the same.
    auto beside = sys::NotifySocket::open();
    ASSERT_TRUE(beside);
    MemoryProcess second(home.path(), {}, {"NOTIFY_SOCKET=" + beside->address()});
    const auto second_heard = heard(*beside);
    ASSERT_FALSE(second_heard.empty());
    EXPECT_TRUE(has(second_heard.back(), "READY=1"));
}

TEST(G7Patience, the_record_moves_while_the_store_opens) {
    const TempHome home;
    leave_store(home, 1, 4);
    const auto log_size = home.size("data/memory.db-wal");
    MemoryProcess memory(home.path(), {}, {}, -1, on_slow_disk(2000));
    (void)memory.call("core.health");
    std::set<std::uint64_t> steps;
    EXPECT_TRUE(harness::eventually(harness::Deadline::in(std::chrono::seconds(15)), [&] {
        const auto seen = query({home.path(), "memory"});
        if (seen && seen->record_is_current && seen->progress_total == log_size) {
            EXPECT_EQ(seen->phase, Phase::starting);
            EXPECT_TRUE(seen->status.starts_with("recovering")) << seen->status;
            steps.insert(seen->progress_done);
        }
        return steps.size() >= 3;
    }));
    ::kill(memory.pid(), SIGTERM);
    EXPECT_GE(memory.wait(), 0);
}

TEST(G7Patience, a_person_sees_a_bar_as_wide_as_the_terminal_allows_and_a_pipe_sees_nothing) {
    const TempHome left;
    leave_store(left, 1, 4);
    for (const int columns : {60, 20}) {
        const TempHome home;
        std::filesystem::copy(left.file("data"), home.file("data"));
        Terminal terminal(columns);
        {
            MemoryProcess memory(home.path(), {}, {"TERM=xterm"}, terminal.end(), on_slow_disk(600));
            // Who leaves earlier takes the bar along and says no more; the record is told after the person.
            EXPECT_TRUE(wait_for({home.path(), "memory"}, WaitFor::ready, patient(Millis{30'000})));
            memory.close_input();
            EXPECT_EQ(memory.wait(), 0);
        }
        const auto lines = Terminal::lines_of(terminal.shown());
        EXPECT_GE(lines.moving.size(), 3U);
        for (const auto& line : lines.moving)
            EXPECT_LT(static_cast<int>(line.size()), columns) << line;
        const auto has = [&](const char* part) {
            return std::ranges::any_of(lines.moving,
                                       [&](const auto& line) { return line.find(part) != line.npos; });
        };
        EXPECT_EQ(has("[#"), columns > 20) << columns;
        EXPECT_TRUE(has(columns > 20 ? "recovering: " : "memory"));
        EXPECT_EQ(lines.left, "memory: ready\r\n");
    }
    for (const char* kind :
         {"TERM=xterm", "TERM=dumb"}) { // a pipe; and a terminal that cannot take a line back
        const TempHome home;
        std::filesystem::copy(left.file("data"), home.file("data"));
        int pipe[2];
        ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
        Terminal terminal(80);
        const bool dumb = std::string_view(kind) == "TERM=dumb";
        {
            MemoryProcess memory(home.path(), {}, {kind}, dumb ? terminal.end() : pipe[1], on_slow_disk(200));
            (void)memory.call("memory.list_traces");
            memory.close_input();
            EXPECT_EQ(memory.wait(), 0);
        }
        ::close(pipe[1]);
        char any = 0;
        EXPECT_EQ(::read(pipe[0], &any, 1), 0);
        ::close(pipe[0]);
        EXPECT_EQ(terminal.shown(), "");
    }
}

} // namespace
} // namespace holdfast::test
