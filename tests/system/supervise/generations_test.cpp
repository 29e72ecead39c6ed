// A supervised process without JSON-RPC, on event loops that are not the library's: a worker that is spoken
// to by lines, and one on a terminal of its own.
#include "supervise/generations.hpp"

#include "places/user_places.hpp"
#include "supervise/fixture.hpp"
#include "supervise/poll_loop.hpp"
#include "sys/directories.hpp"
#include "sys/pipes.hpp"

#ifndef __SANITIZE_THREAD__ // which does not understand Asio's fences
#include "supervise/asio_loop.hpp"
#endif

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <string>

namespace holdfast::supervise_test {

using core::HelperPhase;
using supervise::Engine;
using supervise::Generations;
using supervise::KeeperPlace;
using supervise::ProcessSpec;

namespace {

// What a gateway's worker is: it reads and writes the descriptors itself, and notes what it hears.
class Worker final : public supervise::GenerationEvents {
public:
    Worker(ProcessSpec spec, std::shared_ptr<Engine> engine)
        : engine_(std::move(engine))
        , process(std::move(spec), engine_, *this) {}

    void write(std::string_view text) {
        Turn turn(process);
        EXPECT_EQ(sys::write_quietly(process.input(turn), text).bytes, text.size());
    }
    [[nodiscard]] bool has(std::string_view text) const { return output.find(text) != std::string::npos; }
    [[nodiscard]] bool is_ready(core::Generation generation) const {
        const auto status = process.status();
        return status.phase == HelperPhase::ready && status.generation == generation && status.pid > 0;
    }

    std::string output;
    int spawned = 0;
    int closed = 0;
    bool wrong_thread = false;

private:
    void on_spawned(Turn& turn) override {
        ++spawned;
        wrong_thread = wrong_thread || !engine_->loop->on_own_thread();
        output_ = process.output(turn);
        engine_->loop->watch(output_, EPOLLIN, [this](std::uint32_t) { read_rest(); });
    }
    void on_closing(Turn&) override {
        ++closed;
        wrong_thread = wrong_thread || !engine_->loop->on_own_thread();
        engine_->loop->unwatch(output_);
    }
    void read_rest() override {
        std::array<char, 4096> buffer;
        ssize_t n = 0;
        while ((n = ::read(output_, buffer.data(), buffer.size())) > 0)
            output.append(buffer.data(), static_cast<std::size_t>(n));
        if (n < 0 && errno == EAGAIN)
            return;
        engine_->loop->unwatch(output_);
        Turn turn(process);
        process.output_ended(turn);
    }

    const std::shared_ptr<Engine> engine_;
    int output_ = -1;

public:
    Generations process;
};

std::vector<std::string> own_environment() {
    std::vector<std::string> out;
    for (char** variable = environ; *variable != nullptr; ++variable)
        out.emplace_back(*variable);
    return out;
}

} // namespace

template <class LoopUnderTest>
class GenerationsTest : public SupervisorTest {
protected:
    GenerationsTest() {
        const auto places = places::places_of_user("default");
        EXPECT_TRUE(places && sys::make_directories(places->helpers));
        engine = std::make_shared<Engine>(KeeperPlace{harness::program("holdfast-keep"), *places}, loop);
    }

    ProcessSpec spec(std::vector<std::string> command) const {
        ProcessSpec out;
        out.command = std::move(command);
        out.environment = own_environment();
        out.stop_plan = "eof:1h,term:1h,kill"; // what ends, ends by itself
        return out;
    }
    bool until(auto holds) { return loop->run_until(Deadline::in(10s), holds); }
    bool until_gone(const Worker& worker) {
        return until(
            [&] { return worker.process.status().phase == HelperPhase::idle && engine->all_reaped(); });
    }

    std::shared_ptr<LoopUnderTest> loop = std::make_shared<LoopUnderTest>();
    std::shared_ptr<Engine> engine;
};

#ifdef __SANITIZE_THREAD__
using Loops = ::testing::Types<PollLoop>;
#else
using Loops = ::testing::Types<PollLoop, AsioLoop>;
#endif
TYPED_TEST_SUITE(GenerationsTest, Loops);

TYPED_TEST(GenerationsTest, AWorkerOfLinesIsKeptRunningWhileItIsHeld) {
    const auto worker = std::make_shared<Worker>(this->spec(this->home.animal("echo_server")), this->engine);
    const auto hold = worker->process.hold();
    ASSERT_TRUE(hold.has_value());
    ASSERT_TRUE(this->until([&] { return worker->is_ready(1); }));
    worker->write("one\n");
    ASSERT_TRUE(this->until([&] { return worker->has("echo one\n"); })) << worker->output;

    this->kill_by_pid(worker->process.status().pid);
    ASSERT_TRUE(this->until([&] { return worker->is_ready(2); }));
    worker->write("two\n");
    ASSERT_TRUE(this->until([&] { return worker->has("echo two\n"); })) << worker->output;
    EXPECT_EQ(worker->spawned, 2);
    EXPECT_EQ(worker->closed, 1);

    worker->process.release(*hold);
    ASSERT_TRUE(this->until_gone(*worker));
    EXPECT_EQ(worker->closed, 2);
    EXPECT_EQ(worker->process.status().starts, 2U);
    EXPECT_FALSE(worker->wrong_thread);
    this->expect_nothing_left();
}

TYPED_TEST(GenerationsTest, WhatAWorkerWritesAtItsEndIsRead) {
    const auto worker = std::make_shared<Worker>(
        this->spec({"/bin/sh", "-c", "while read -r line; do echo \"got $line\"; done; echo last"}),
        this->engine);
    const auto hold = worker->process.hold();
    ASSERT_TRUE(this->until([&] { return worker->is_ready(1); }));
    worker->write("one\ntwo\n");
    worker->process.release(*hold);
    ASSERT_TRUE(this->until_gone(*worker));
    EXPECT_EQ(worker->output, "got one\ngot two\nlast\n");
}

TYPED_TEST(GenerationsTest, AWorkerOnATerminalIsKeptRunningAndEndsWithItsWholeSession) {
    ProcessSpec spec = this->spec(this->home.animal("pty_child"));
    spec.terminal = sys::WindowSize{.columns = 91, .rows = 17};
    spec.stop_plan = "term:1h,kill"; // the animal does not read
    spec.command.insert(spec.command.begin(), {"/bin/sh", "-c", "stty size; exec \"$@\"", "sh"});
    const auto worker = std::make_shared<Worker>(std::move(spec), this->engine);
    const auto hold = worker->process.hold();
    ASSERT_TRUE(this->until([&] { return worker->has("ready"); })) << worker->output;
    EXPECT_TRUE(worker->has("17 91\r\n")) << worker->output;

    this->kill_by_pid(worker->process.status().pid);
    ASSERT_TRUE(this->until([&] { return worker->is_ready(2); }));
    worker->output.clear();
    ASSERT_TRUE(this->until([&] { return worker->has("ready"); })) << worker->output;

    worker->process.release(*hold);
    ASSERT_TRUE(this->until_gone(*worker));
    EXPECT_FALSE(worker->wrong_thread);
    this->expect_nothing_left();
}

TYPED_TEST(GenerationsTest, ATerminalSaysThatTheInputHasEnded) {
    ProcessSpec spec = this->spec({"/bin/sh", "-c", "cat; echo last"});
    spec.terminal = sys::WindowSize{};
    const auto worker = std::make_shared<Worker>(std::move(spec), this->engine);
    const auto hold = worker->process.hold();
    ASSERT_TRUE(this->until([&] { return worker->is_ready(1); }));
    worker->write("half a line");
    ASSERT_TRUE(this->until([&] { return worker->has("half a line"); })); // the terminal's own echo
    worker->process.release(*hold);
    ASSERT_TRUE(this->until_gone(*worker)); // its stop plan would wait an hour
    EXPECT_TRUE(worker->has("last")) << worker->output;
}

TYPED_TEST(GenerationsTest, ASignalReachesTheProcess) {
    ProcessSpec spec = this->spec(this->home.animal("signal_teller"));
    spec.stop_plan = "now"; // TERM is only another signal to tell of
    const auto worker = std::make_shared<Worker>(std::move(spec), this->engine);
    const auto hold = worker->process.hold();
    ASSERT_TRUE(this->until([&] { return worker->has("ready"); }));
    {
        Generations::Turn turn(worker->process);
        worker->process.signal(turn, SIGUSR1);
    }
    const std::string told = "signal " + std::to_string(SIGUSR1) + " 1\n";
    EXPECT_TRUE(this->until([&] { return worker->has(told); })) << worker->output;
    worker->process.release(*hold);
    EXPECT_TRUE(this->until_gone(*worker));
}

// Nothing but the loop moves it: without, no time passes for it and nothing is heard.
TYPED_TEST(GenerationsTest, WithoutTheLoopNothingHappens) {
    const auto worker = std::make_shared<Worker>(this->spec(this->home.animal("echo_server")), this->engine);
    const auto hold = worker->process.hold();
    EXPECT_FALSE(harness::eventually(Deadline::exactly(100ms), [&] { return worker->spawned != 0; }));
    EXPECT_EQ(worker->process.status().phase, HelperPhase::spawning);
    worker->process.release(*hold);
    EXPECT_TRUE(this->until_gone(*worker));
    EXPECT_EQ(worker->spawned, worker->closed);
}

// A crash that is heard of after the last release is followed by nothing.
TYPED_TEST(GenerationsTest, WhatNobodyHoldsIsNotStartedAgain) {
    const auto worker = std::make_shared<Worker>(this->spec(this->home.animal("echo_server")), this->engine);
    const auto hold = worker->process.hold();
    ASSERT_TRUE(this->until([&] { return worker->is_ready(1); }));
    this->kill_by_pid(worker->process.status().pid);
    worker->process.release(*hold);
    ASSERT_TRUE(this->until_gone(*worker));
    EXPECT_EQ(worker->process.status().starts, 1U);
    this->expect_nothing_left();
}

} // namespace holdfast::supervise_test
