// A store as a kill leaves it, and a disk that takes its time with it.
#pragma once

#include "memory/ids/ids.hpp"
#include "memory/repository/rows.hpp"
#include "memory/writer/store.hpp"
#include "support/memory_home.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::test {

// A store of about `store_mb`, and behind it a write-ahead log of `wal_mb` that nobody has copied back: what
// a kill leaves after a busy time.
inline void leave_store(const TempHome& home, std::uint64_t store_mb, std::uint64_t wal_mb) {
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

// The launcher of a process that needs so long for its leftover log, told by the kernel and not by the
// process: tests/children/slow_disk.c. The first of a home to open the store is the one that reads it.
inline std::vector<std::string> on_slow_disk(std::uint64_t milliseconds) {
    std::string program(HOLDFAST_BIN_DIR);
    program += "/zoo/slow_disk";
    return {program, std::to_string(milliseconds)};
}

} // namespace holdfast::test
