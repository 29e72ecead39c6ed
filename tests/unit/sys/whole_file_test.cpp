// Reading to the end, and writing all of it.
#include "sys/whole_file.hpp"

#include "sys/pipes.hpp"
#include "sys/proc.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace holdfast::sys {
namespace {

TEST(WholeFile, WhatGoesThroughAPipeInPiecesComesOutWhole) {
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    const std::string text(1'000'000, 'x'); // more than a pipe takes at once
    std::thread writer([&, end = std::move(pipe->writing)] { EXPECT_EQ(write_all(end.get(), text), 0); });
    std::string read = "before ";
    EXPECT_EQ(read_to_end(pipe->reading.get(), read), 0);
    writer.join();
    EXPECT_EQ(read, "before " + text);
}

TEST(WholeFile, MoreThanTheLimitIsRefused) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{100}, std::size_t{4096}, std::size_t{10'000}}) {
        std::string path = std::filesystem::temp_directory_path() / "holdfast-whole-XXXXXX";
        const Fd file(::mkstemp(path.data()));
        ASSERT_TRUE(file);
        ASSERT_EQ(write_all(file.get(), std::string(size, 'x')), 0);
        for (const auto end : {ReadEnd::empty_read, ReadEnd::short_read}) {
            ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
            std::string exact;
            EXPECT_EQ(read_to_end(file.get(), exact, size, end), 0) << size;
            EXPECT_EQ(exact.size(), size);
            if (size > 0) {
                ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
                std::string less;
                EXPECT_EQ(read_to_end(file.get(), less, size - 1, end), EFBIG) << size;
            }
        }
        EXPECT_EQ(read_small_file(path, size), std::string(size, 'x'));
        EXPECT_EQ(read_at_once(path, size), std::string(size, 'x'));
        if (size > 0) {
            EXPECT_EQ(read_small_file(path, size - 1), std::nullopt);
        }
        std::filesystem::remove(path);
    }
}

TEST(WholeFile, WhatIsInTheWayIsSaid) {
    std::string text;
    EXPECT_EQ(read_to_end(-1, text), EBADF);
    EXPECT_EQ(write_all(-1, "x"), EBADF);
    EXPECT_EQ(write_all(-1, ""), 0);
    const Fd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(read_to_end(directory.get(), text), EISDIR);
    const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(write_all(full.get(), "x"), ENOSPC);
}

} // namespace
} // namespace holdfast::sys
