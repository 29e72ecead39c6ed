// What becomes of helpers when the host dies, exits, or forks.
#include "supervise/fixture.hpp"

#include "base/text.hpp"
#include "keep/keeper_options.hpp"
#include "sys/fd.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::supervise_test {

class SupervisorHost : public SupervisorTest {
protected:
    Result<harness::Child> start_host(const std::vector<std::string>& words) {
        harness::SpawnSpec spec = home.command_of("supervise_host", words);
        spec.argv.emplace_back("--");
        for (const std::string& word : home.animal("rpc_helper", {"--daemon"}))
            spec.argv.push_back(word);
        spec.in = harness::Stdio::pipe;
        return harness::Child::spawn(spec);
    }
    // All threads of it: until the one that takes the signal is stopped, others may go on.
    static bool stands_still(const harness::Child& host) {
        return host.signal(SIGSTOP) && harness::eventually(Deadline::in(10s), [&] {
                   const auto seen = harness::inspect(host.pid());
                   return seen && seen->state == 'T';
               });
    }
    [[nodiscard]] std::vector<sys::Fd> find_keepers() const {
        std::vector<sys::Fd> out;
        for (const auto& process : harness::marked_processes(home.mark().token()))
            if (process.name == "holdfast-keep")
                if (auto keeper = harness::open_pidfd(process.pid))
                    out.push_back(std::move(*keeper));
        return out;
    }
};

TEST_F(SupervisorHost, G4AKilledHostLeavesNothing) {
    auto host = start_host({});
    ASSERT_TRUE(host.has_value()) << host.error().message;
    ASSERT_TRUE(host->out().read_line(Deadline::in(10s)).has_value());
    EXPECT_EQ(helpers().size(), 2U);
    ASSERT_TRUE(host->kill().has_value());
    expect_nothing_left();
}

// Host and keeper die together: nobody is left who knows of the tree, but the next supervisor of this home
// finds it by lock and mark. The first half is the control: without the sweep, the tree lives on.
TEST_F(SupervisorHost, G4TheNextStartEndsWhatADoubleKillLeft) {
    auto host = start_host({});
    ASSERT_TRUE(host.has_value());
    ASSERT_TRUE(host->out().read_line(Deadline::in(10s)).has_value());
    ASSERT_EQ(helpers().size(), 2U);
    // The host stands still, so that it cannot clean up between the two kills. (The other way round the
    // kernel would wake a stopped keeper: its process group is orphaned by the host's death.)
    ASSERT_TRUE(stands_still(*host));
    const std::vector<sys::Fd> keepers = find_keepers();
    ASSERT_EQ(keepers.size(), 1U);
    ASSERT_EQ(harness::pidfd_signal(keepers[0].get(), SIGKILL), 0);
    ASSERT_TRUE(harness::wait_pidfd(keepers[0].get(), Deadline::in(10s)).has_value());
    ASSERT_TRUE(host->kill().has_value());
    // Its input has ended, so the helper may leave by itself; its daemon does not.
    EXPECT_FALSE(harness::eventually(Deadline::exactly(1s), [&] { return helpers().empty(); }));
    const Supervisor next = make();
    expect_nothing_left(20s);
}

// Control of G4AKilledKeeperTakesItsTreeAlong: nobody but the supervisor ends the tree of a killed keeper.
// While the host stands still, the tree lives.
TEST_F(SupervisorHost, G4TheSupervisorIsWhoEndsTheTreeOfAKilledKeeper) {
    auto host = start_host({});
    ASSERT_TRUE(host.has_value());
    ASSERT_TRUE(host->out().read_line(Deadline::in(10s)).has_value());
    const auto before = helpers();
    ASSERT_EQ(before.size(), 2U);
    const auto alive = [&] {
        return std::ranges::count_if(helpers(),
                                     [&](pid_t pid) { return std::ranges::count(before, pid) != 0; });
    };
    ASSERT_TRUE(stands_still(*host));
    const std::vector<sys::Fd> keepers = find_keepers();
    ASSERT_EQ(keepers.size(), 1U);
    ASSERT_EQ(harness::pidfd_signal(keepers[0].get(), SIGKILL), 0);
    EXPECT_FALSE(harness::eventually(Deadline::exactly(1s), [&] { return alive() == 0; }));
    ASSERT_TRUE(host->signal(SIGCONT).has_value());
    EXPECT_TRUE(harness::eventually(Deadline::in(20s), [&] { return alive() == 0; }));
    EXPECT_TRUE(harness::eventually(Deadline::in(20s), [&] { return helpers().size() == 2; })) << "replaced";
    ASSERT_TRUE(host->kill().has_value());
    expect_nothing_left(20s);
}

// A forked child has copies of everything, and nobody may wait for them.
TEST_F(SupervisorHost, G4AKilledHostLeavesNothingEvenIfAForkOfItLivesOn) {
    auto host = start_host({"--fork"});
    ASSERT_TRUE(host.has_value());
    const auto child_line = host->out().read_line(Deadline::in(10s));
    ASSERT_TRUE(child_line.has_value());
    const pid_t child = std::atoi(child_line->c_str() + 6);
    ASSERT_TRUE(host->out().read_line(Deadline::in(10s)).has_value());
    ASSERT_TRUE(host->kill().has_value());
    EXPECT_TRUE(harness::eventually(Deadline::in(10s), [&] { return helpers().empty(); }));
    const auto fork = harness::inspect(child);
    ASSERT_TRUE(fork.has_value());
    EXPECT_FALSE(fork->dead()) << "the fork is the host's affair";
    kill_by_pid(child);
    expect_nothing_left();
}

TEST_F(SupervisorHost, AnExitWithHoldsOpenLeavesNothing) {
    auto host = start_host({"--exit"});
    ASSERT_TRUE(host.has_value());
    ASSERT_TRUE(host->out().read_line(Deadline::in(10s)).has_value());
    host->close_in();
    const auto status = host->wait(Deadline::in(10s));
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(status->exited_with(0)) << to_string(*status);
    expect_nothing_left();
}

// A host with so many descriptors that ours get the very numbers that the keeper is given its own at. Moving
// them must not close one of the entry's lock file in the host: that would drop the kernel's word that it
// owns the entry.
TEST_F(SupervisorHost, AHostWithManyDescriptorsStillOwnsItsEntry) {
    std::vector<sys::Fd> taken;
    while (taken.empty() || taken.back().get() < keep::first_life_number + 20)
        taken.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Supervisor supervisor = make();
    HelperSpec first = helper();
    first.key = "first";
    auto warm = supervisor.hold(first); // what a supervisor opens once is open now
    ASSERT_EQ(text_of(warm->request("echo", "[1]")), "[1]");
    for (sys::Fd& fd : taken)
        if (fd.get() >= keep::first_life_number && fd.get() < keep::first_life_number + 8)
            fd.reset();
    auto hold = supervisor.hold(helper());
    ASSERT_TRUE(hold.has_value()) << hold.error().message;
    EXPECT_EQ(text_of(hold->request("echo", R"(["hello"])")), R"(["hello"])");
    // Asked by another process, as everybody else would: within the owner the kernel has nothing to tell.
    const pid_t asker = ::fork();
    ASSERT_GE(asker, 0);
    if (asker == 0) {
        int owned = 0;
        for (const auto& file : std::filesystem::directory_iterator(home.path() + "/run/default/helpers"))
            if (file.path().extension() == ".lock") {
                const int fd = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC);
                struct flock owner{
                    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1, .l_pid = 0};
                owned += ::fcntl(fd, F_GETLK, &owner) == 0 && owner.l_type == F_WRLCK &&
                         owner.l_pid == ::getppid();
            }
        ::_exit(owned);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(asker, &status, 0), asker);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 2);
}

TEST_F(SupervisorHost, TheChildOfAForkHasNoHoldsAndTheParentNoticesNothing) {
    Supervisor supervisor = make();
    auto hold = supervisor.hold(helper());
    const int pid = number(hold->request("pid"));
    auto call = hold->start("sleep", R"({"ms":3600000})", {.timeout = patient(120s)});
    int words[2];
    ASSERT_EQ(::pipe(words), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        bool inert = hold->request("echo").error().code == Errc::closed;
        inert = inert && supervisor.hold(helper()).error().code == Errc::closed;
        inert = inert && hold->status().state == HelperState::closed && supervisor.status().empty();
        // Who waits in a loop is told that it is over, and then how.
        inert = inert && call->wait_done(1ms) && call->wait_done(std::nullopt);
        inert = inert && call->wait(1ms).error().code == Errc::closed;
        hold->release(); // does nothing here
        {
            const Supervisor dropped(std::move(supervisor));
        }
        char byte = 0;
        ::close(words[1]);
        while (::read(words[0], &byte, 1) < 0) {
        }
        ::_exit(inert ? 0 : 1);
    }
    ::close(words[0]);
    EXPECT_EQ(number(hold->request("pid")), pid) << "the parent's helper lives, and answers the parent";
    hold->release();
    EXPECT_TRUE(harness::eventually(Deadline::in(10s), [&] { return helpers().empty(); }))
        << "the child holds no end of its stdin";
    ::close(words[1]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Negative control: without the shield a fork keeps the helper's stdin open, and only the stop plan ends it.
TEST_F(SupervisorHost, ACopyOfStdinInAForkWouldKeepItsEndFromBeingSeen) {
    int input[2];
    ASSERT_EQ(::pipe(input), 0);
    const pid_t child = ::fork();
    if (child == 0)
        for (;;)
            ::pause();
    ::close(input[1]);
    pollfd end{.fd = input[0], .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&end, 1, 200), 0) << "the child's copy keeps it open";
    kill_by_pid(child);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(::poll(&end, 1, 5000), 1);
    ::close(input[0]);
}

// What the host next writes to its stdout must not land in a lock file, and what it next opens there must not
// take the place of one.
TEST_F(SupervisorHost, AHostWithoutStdioKeepsItsNumbersFree) {
    auto host = start_host({"--without-stdio"});
    ASSERT_TRUE(host.has_value());
    const auto word = host->out().read_line(Deadline::in(20s));
    ASSERT_TRUE(word.has_value());
    EXPECT_EQ(word->substr(0, 6), "ready ");
    std::string taken;
    EXPECT_TRUE(harness::eventually(Deadline::in(5s), [&] {
        taken.clear();
        for (const int number : {0, 1, 2}) {
            std::array<char, 200> name{};
            const std::string path = base::cat("/proc/", host->pid(), "/fd/", number);
            if (::readlink(path.c_str(), name.data(), name.size() - 1) > 0)
                taken += base::cat(number, " is ", name.data(), "; ");
        }
        return taken.empty();
    })) << taken;
    ASSERT_TRUE(host->kill().has_value());
    expect_nothing_left();
}

TEST_F(SupervisorHost, AHostThatIgnoresItsChildrenGetsNoSurprises) {
    struct sigaction ignore{};
    struct sigaction before{};
    ignore.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(SIGCHLD, &ignore, &before), 0);
    {
        Supervisor supervisor = make();
        auto hold = supervisor.hold(helper());
        const int first = number(hold->request("pid"));
        kill_by_pid(first);
        EXPECT_NE(number(hold->request("pid")), first);
    }
    ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
    expect_nothing_left();
}

} // namespace holdfast::supervise_test
