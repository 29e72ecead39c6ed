#include "host/host_watch.hpp"

#include "sys/pidfd.hpp"
#include "sys/pipes.hpp"
#include "sys/spawn.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace holdfast::host {
namespace {

using namespace std::chrono_literals;
using namespace sys;

bool turns(const HostWatch& watch, int within_ms) {
    pollfd one{.fd = watch.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, within_ms) > 0;
}

TEST(HostWatch, TheEndOfTheHostIsHeard) {
    auto host = spawn({.argv = {"sleep", "3600"}});
    ASSERT_TRUE(host) << host.error().message;
    auto watch = HostWatch::of(host->fd(), -1, 0ms);
    ASSERT_TRUE(watch);
    EXPECT_FALSE(watch->gone());
    EXPECT_FALSE(turns(*watch, 0));
    ASSERT_TRUE(host->signal(SIGKILL));
    EXPECT_TRUE(turns(*watch, 20'000));
    EXPECT_TRUE(watch->gone());
    EXPECT_TRUE(watch->gone()) << "and it stays so";
    (void)host->try_reap();
}

TEST(HostWatch, AnInputThatIsClosedAndEmptyIsTheEnd) {
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    auto watch = HostWatch::of(-1, pipe->reading.get(), 1h);
    ASSERT_TRUE(watch);
    EXPECT_EQ(::write(pipe->writing.get(), "x", 1), 1);
    EXPECT_FALSE(turns(*watch, 0)) << "what is written is not for us";
    EXPECT_FALSE(watch->gone());
    char byte = 0;
    EXPECT_EQ(::read(pipe->reading.get(), &byte, 1), 1);
    pipe->writing.reset();
    EXPECT_TRUE(turns(*watch, 20'000));
    EXPECT_TRUE(watch->gone());
}

TEST(HostWatch, WhatWasSaidBeforeTheEndIsGivenItsTime) {
    for (auto patience : {1h, 0h}) {
        auto pipe = make_pipe();
        ASSERT_TRUE(pipe);
        auto watch = HostWatch::of(-1, pipe->reading.get(), patience);
        ASSERT_TRUE(watch);
        EXPECT_EQ(::write(pipe->writing.get(), "x", 1), 1);
        pipe->writing.reset();
        EXPECT_TRUE(turns(*watch, 20'000));
        EXPECT_EQ(watch->gone(), patience == 0h);
        if (patience != 0h) {
            EXPECT_FALSE(turns(*watch, 0)) << "it would be asked again and again";
        }
    }
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    auto watch = HostWatch::of(-1, pipe->reading.get(), 50ms);
    ASSERT_TRUE(watch);
    EXPECT_EQ(::write(pipe->writing.get(), "x", 1), 1);
    pipe->writing.reset();
    EXPECT_TRUE(turns(*watch, 20'000));
    EXPECT_FALSE(watch->gone());
    EXPECT_TRUE(turns(*watch, 20'000)) << "the timer";
    EXPECT_TRUE(watch->gone());
}

TEST(HostWatch, AFileHasNoEnd) {
    Fd file(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    auto watch = HostWatch::of(-1, file.get(), 0ms);
    ASSERT_TRUE(watch) << watch.error().message;
    EXPECT_FALSE(turns(*watch, 0));
    EXPECT_FALSE(watch->gone());
}

} // namespace
} // namespace holdfast::host
