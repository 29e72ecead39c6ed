// G7: however long a store takes to open, health is answered, progress is told, nobody is killed, one process
// owns it.
#include "holdfast/slot.hpp"
#include "memory/store/ids.hpp"
#include "memory/store/rows.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "sys/notify.hpp"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::test {
namespace {

namespace json = boost::json;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* given = std::getenv(name);
    return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

// A store of about `store_mb`, and behind it a write-ahead log of `wal_mb` that nobody has copied back: what
// a kill leaves after a busy time.
void leave_store(const TempHome& home, std::uint64_t store_mb, std::uint64_t wal_mb) {
    std::filesystem::create_directories(home.path() + "/data");
    std::filesystem::create_directories(home.path() + "/making");
    const auto path = home.file("making/memory.db");
    memory::StoreOptions options;
    options.path = path;
    const auto fill = [&](memory::Store& store, std::uint64_t megabytes, const std::string& watched) {
        std::int64_t number = 0;
        std::error_code none;
        while (!std::filesystem::exists(watched) ||
               std::filesystem::file_size(watched, none) < (megabytes << 20))
            ASSERT_TRUE(store.write([&](memory::WriteContext& context) -> Result<void> {
                memory::Session session{.id = "s", .agent = "a", .opened_at = 1};
                if (auto added = memory::add_session(context, session); !added)
                    return added;
                memory::Episode episode{.id = "e", .session_row = session.row, .opened_at = 1};
                if (auto added = memory::add_episode(context, episode); !added)
                    return added;
                for (int i = 0; i < 64; ++i) {
                    memory::Trace trace;
                    trace.id = memory::make_id("tr_");
                    trace.session_row = session.row;
                    trace.episode_row = episode.row;
                    trace.ts = ++number;
                    trace.kind = "turn";
                    trace.user_text = "row " + trace.id;
                    trace.tool_calls = "[\"" + std::string(60'000, 'x') + "\"]"; // much data, few words
                    if (auto added = memory::add_trace(context, trace); !added)
                        return added;
                }
                return {};
            }));
    };
    {
        auto store = memory::Store::open(options, [](const memory::Progress&) {}).value();
        fill(*store, store_mb, path);
    }
    options.checkpoint_frames = options.reset_frames = std::size_t{1} << 40;
    auto store = memory::Store::open(options, [](const memory::Progress&) {}).value();
    fill(*store, wal_mb, path + "-wal");
    home.copy("making/memory.db", "data/memory.db");
    home.copy("making/memory.db-wal", "data/memory.db-wal");
    store.reset();
    std::filesystem::remove_all(home.path() + "/making");
}

struct Patience {
    std::set<std::int64_t> owners;
    std::set<std::string> phases;
    int starters = 0;
    int asked = 0;
};

// A starter every `pause`, each asking for health all the time, until the store is ready. Nobody may be
// killed.
Patience be_patient(const TempHome& home, std::chrono::milliseconds pause,
                    std::vector<std::string> variables) {
    Patience seen;
    std::vector<std::unique_ptr<MemoryProcess>> starters;
    auto next_start = std::chrono::steady_clock::now();
    for (bool ready = false; !ready;) {
        if (std::chrono::steady_clock::now() >= next_start && starters.size() < 24) {
            starters.push_back(
                std::make_unique<MemoryProcess>(home.path(), std::vector<std::string>{}, variables));
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
            ++seen.asked;
            ready |= health.at("phase") == "ready" || health.at("phase") == "indexing";
            EXPECT_EQ(health.at("ok"), true);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    seen.starters = static_cast<int>(starters.size());
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
    const auto slow_ms = from_environment("HOLDFAST_SLOW_MS", 3000);
    const auto seen = be_patient(home, std::chrono::milliseconds(slow_ms / 12),
                                 {"HOLDFAST_MEMORY_SLOW_OPEN_MS=" + std::to_string(slow_ms)});
    EXPECT_EQ(seen.owners.size(), 1U) << "one owner";
    EXPECT_TRUE(seen.phases.contains("recovering"));
    EXPECT_GT(seen.starters, 3);
    EXPECT_GT(seen.asked, 50);
}

TEST(G7Patience, a_large_store_with_a_large_leftover_log_is_an_ordinary_start) {
    const TempHome home;
    const auto wal_mb = from_environment("HOLDFAST_WAL_MB", 24);
    leave_store(home, from_environment("HOLDFAST_STORE_MB", 40), wal_mb);
    ASSERT_GE(home.size("data/memory.db-wal"), wal_mb << 20);
    const auto seen =
        be_patient(home, std::chrono::milliseconds(from_environment("HOLDFAST_START_EVERY_MS", 20)), {});
    EXPECT_EQ(seen.owners.size(), 1U) << "one owner";
    EXPECT_GT(seen.asked, 0);
}

// What the service manager above hears, in order.
std::vector<std::string> heard(const sys::NotifySocket& socket) {
    std::vector<std::string> all;
    while (all.empty() || all.back().find("READY=1") == std::string::npos) {
        pollfd ready{socket.fd(), POLLIN, 0};
        if (::poll(&ready, 1, 30'000) != 1)
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
    MemoryProcess memory(home.path(), {},
                         {"NOTIFY_SOCKET=" + above->address(), "HOLDFAST_MEMORY_SLOW_OPEN_MS=400"});
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
    MemoryProcess memory(home.path(), {}, {"HOLDFAST_MEMORY_SLOW_OPEN_MS=2000"});
    (void)memory.call("core.health");
    std::set<std::uint64_t> steps;
    for (int i = 0; i < 3000 && steps.size() < 3; ++i) {
        const auto seen = query({home.path(), "memory"});
        if (seen && seen->record_is_current && seen->progress_total == 2000) {
            EXPECT_EQ(seen->phase, Phase::starting);
            EXPECT_TRUE(seen->status.starts_with("recovering")) << seen->status;
            steps.insert(seen->progress_done);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_GE(steps.size(), 3U);
    ::kill(memory.pid(), SIGTERM);
    EXPECT_GE(memory.wait(), 0);
}

TEST(G7Patience, a_person_sees_a_bar_and_a_pipe_sees_nothing) {
    const TempHome home;
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(terminal, 0);
    ASSERT_EQ(::grantpt(terminal), 0);
    ASSERT_EQ(::unlockpt(terminal), 0);
    const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(other_end, 0);
    const auto read_all = [](int fd) {
        std::string text;
        pollfd ready{fd, POLLIN, 0};
        char chunk[4096];
        while (::poll(&ready, 1, 500) == 1) {
            const auto n = ::read(fd, chunk, sizeof chunk);
            if (n <= 0)
                break;
            text.append(chunk, static_cast<std::size_t>(n));
        }
        return text;
    };
    {
        MemoryProcess memory(home.path(), {}, {"HOLDFAST_MEMORY_SLOW_OPEN_MS=600"}, other_end);
        (void)memory.call("memory.list_traces");
        memory.close_input();
        EXPECT_EQ(memory.wait(), 0);
    }
    const auto shown = read_all(terminal);
    EXPECT_NE(shown.find("[#"), shown.npos) << shown;
    EXPECT_NE(shown.find("ready"), shown.npos) << shown;
    ::close(other_end);
    ::close(terminal);
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    {
        MemoryProcess memory(home.path(), {}, {"HOLDFAST_MEMORY_SLOW_OPEN_MS=200"}, pipe[1]);
        (void)memory.call("memory.list_traces");
        memory.close_input();
        EXPECT_EQ(memory.wait(), 0);
    }
    ::close(pipe[1]);
    EXPECT_EQ(read_all(pipe[0]), "");
    ::close(pipe[0]);
}

} // namespace
} // namespace holdfast::test
