#include "sys/pipes.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace holdfast::sys {
namespace {

TEST(WriteQuietly, a_reader_that_is_gone_is_an_answer) {
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    pipe->reading.reset();
    EXPECT_EQ(write_quietly(pipe->writing.get(), "x").state, WriteState::broken);
}

// The kernel sends the signal then as well, although the write says that it wrote something.
TEST(WriteQuietly, a_reader_that_leaves_in_the_middle_of_a_long_write_is_none_to_die_of) {
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    const std::string much(1 << 20, 'x');
    std::thread reader([&] {
        int there = 0;
        for (int i = 0; i < 10'000 && there < (1 << 15); ++i) {
            (void)::ioctl(pipe->reading.get(), FIONREAD, &there);
            (void)::poll(nullptr, 0, 1);
        }
        pipe->reading.reset();
    });
    const auto written = write_quietly(pipe->writing.get(), much);
    reader.join();
    EXPECT_EQ(written.state, WriteState::some);
    EXPECT_GT(written.bytes, 0U);
    EXPECT_LT(written.bytes, much.size());
    EXPECT_EQ(write_quietly(pipe->writing.get(), "x").state, WriteState::broken);
}

} // namespace
} // namespace holdfast::sys
