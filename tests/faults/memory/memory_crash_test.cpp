// G10: the owner of a home dies at a system call, any of them, while eight attached clients write. Every turn
// that was answered is there, none twice; every client's stream stays whole, and none of its requests meets
// silence.
#include "harness/eventually.hpp"
#include "holdfast/slot.hpp"
#include "stepper/stepper.hpp"
#include "support/memory_storm.hpp"

#include <fcntl.h>

#include <iostream>

namespace holdfast::test {
namespace {

using stepper::When;

constexpr int client_count = 8;
constexpr int turns = 4;

// An owner under the stepper, with a client of its own that only holds its input open.
class SteppedOwner {
public:
    explicit SteppedOwner(const std::string& home) {
        int in[2];
        if (::pipe2(in, O_CLOEXEC) != 0)
            std::abort();
        child_in_ = sys::Fd(in[0]);
        in_ = sys::Fd(in[1]);
        null_ = sys::Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        spec.program.argv = {std::string(HOLDFAST_BIN_DIR) + "/holdfast-memory", "--no-viewer",
                             "--home=" + home};
        spec.program.fds = {{child_in_.get(), 0}, {null_.get(), 1}};
        spec.limit = patient(std::chrono::seconds(120));
    }
    void close_input() { in_.reset(); }
    stepper::Spec spec;

private:
    sys::Fd child_in_;
    sys::Fd in_;
    sys::Fd null_;
};

class Round {
public:
    Round(const std::string& home, int first_client)
        : home_(home) {
        for (int i = 0; i < client_count; ++i)
            clients.push_back(std::make_unique<StormClient>(home, first_client + i, turns, victims_));
    }
    // Starts the clients once the stepped process owns the home and is ready, or is gone already.
    void run(const std::function<void()>& stepped, SteppedOwner& owner) {
        std::atomic<bool> over = false;
        std::thread tracer([&] {
            stepped();
            over = true;
        });
        EXPECT_TRUE(harness::eventually(harness::Deadline::in(std::chrono::seconds(30)), [&] {
            const auto seen = query({home_, "memory"});
            return over || (seen && seen->state == SlotState::owned && seen->record_is_current &&
                            seen->phase == Phase::ready);
        }));
        std::vector<std::thread> threads;
        for (auto& client : clients)
            threads.emplace_back([&] { client->run(); });
        for (auto& thread : threads)
            thread.join();
        owner.close_input(); // if it still lives, it ends now, like any owner whose client is done
        tracer.join();
    }
    std::vector<std::unique_ptr<StormClient>> clients;

private:
    std::string home_;
    Victims victims_;
};

// A home, and everybody who ever wrote there.
class Scene {
public:
    Scene() { prepare_storm(home_.path()); }
    // The clients of one round, with that owner under the stepper. How many requests were sent again.
    int play(SteppedOwner& owner, const std::function<void()>& stepped) {
        Round round(home_.path(), static_cast<int>(all_.size()));
        round.run(stepped, owner);
        int tried_again = 0;
        for (auto& client : round.clients) {
            EXPECT_EQ(client->stored.size(), static_cast<std::size_t>(turns));
            EXPECT_EQ(client->deaths, 0); // theirs was not the process that died
            tried_again += client->tries_again;
            all_.push_back(std::move(client));
        }
        return tried_again;
    }
    void expect_kept() const { expect_all_kept(home_.path(), all_); }
    [[nodiscard]] std::string path() const { return home_.path(); }

private:
    TempHome home_;
    std::vector<std::unique_ptr<StormClient>> all_;
};

TEST(G10NothingAcknowledgedIsLost, the_owner_killed_at_its_system_calls_while_eight_clients_write) {
    auto scene = std::make_unique<Scene>();
    std::size_t calls = 0;
    {
        SteppedOwner owner(scene->path());
        scene->play(owner, [&] {
            const auto counted = stepper::count_syscalls(owner.spec);
            ASSERT_TRUE(counted) << counted.error().message;
            calls = counted->count();
        });
    }
    ASSERT_GT(calls, 300U);

    // All of them take a while; a spread of them, other ones on each side of a call, is part of every test
    // run.
    const char* everything = std::getenv("HOLDFAST_ALL_POINTS");
    const std::size_t stride = everything != nullptr ? 1 : std::max<std::size_t>(1, calls / 24);
    constexpr std::size_t of_one_home = 100; // points, so that the last of them meet a store like the first
    std::size_t points = 0;
    std::size_t reached = 0;
    int tried_again = 0;
    std::set<std::string> names;
    for (std::size_t k = 1 + stride / 2; k < calls; k += stride) {
        if (points++ % of_one_home == of_one_home - 1) {
            scene->expect_kept();
            scene = std::make_unique<Scene>();
        }
        SteppedOwner owner(scene->path());
        tried_again += scene->play(owner, [&] {
            const auto outcome =
                stepper::kill_at(owner.spec, k, (k / stride) % 2 == 0 ? When::entry : When::exit);
            ASSERT_TRUE(outcome) << outcome.error().message;
            if (outcome->reached) {
                ++reached;
                names.insert(outcome->name);
            }
        });
        ASSERT_FALSE(HasFailure()) << "killed at call " << k << " of " << calls;
    }
    std::cout << reached << " points of " << calls << ", at " << names.size() << " kinds of calls; "
              << tried_again << " requests were sent again\n";
    EXPECT_GE(reached, 12U);
    EXPECT_GT(tried_again, 0) << "negative control: no request was ever in flight when the owner died";
    scene->expect_kept();
}

} // namespace
} // namespace holdfast::test
