// Readiness: what a helper says on NOTIFY_SOCKET is its phase, and is told to the service manager above.
#include "keep/fixture.hpp"

#include <sys/socket.h>
#include <sys/un.h>

namespace holdfast::harness {

namespace {

// A service manager's end of NOTIFY_SOCKET.
class Manager {
public:
    explicit Manager(const std::string& path)
        : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        const timeval limit{.tv_sec = test::patient(20s).count(), .tv_usec = 0};
        EXPECT_EQ(::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    }
    // Reads messages until one contains `text`; all that came before it is kept.
    bool hears(const std::string& text) {
        for (char buffer[4096];;) {
            const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
            if (n <= 0)
                return false;
            heard += std::string(buffer, static_cast<std::size_t>(n)) + "\n";
            if (std::string_view(buffer, static_cast<std::size_t>(n)).find(text) != std::string_view::npos)
                return true;
        }
    }
    std::string heard;

private:
    sys::Fd fd_;
};

class Notify : public Keep {
protected:
    // What `status --json` or ps says of the phase.
    bool phase_is(const std::string& phase) const { return eventually_in_ps("\"phase\":\"" + phase + "\""); }
};

TEST_F(Notify, APhaseFollowsWhatTheHelperSays) {
    scene.start({.holdfast = quickly,
                 .command = home.animal("notifier", {"--steps=2", "--stall-at=2", "--step-ms=1"})});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(phase_is("starting"));
    EXPECT_TRUE(eventually_in_ps("\"status\":\"step 2 of 2\"")) << ps();
    EXPECT_NE(ps().find("\"progress\":{\"done\":2"), std::string::npos) << ps();
    ASSERT_TRUE(scene.host().kill());
    expect_nothing_left();

    scene.start({.holdfast = {"--stop", "term:1h,kill"},
                 .command = home.animal("notifier", {"--step-ms=1", "--stop-ms=1500"})});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(phase_is("ready"));
    EXPECT_NE(events().find("\"ready\""), std::string::npos);
    scene.front().signal(SIGTERM);
    EXPECT_TRUE(phase_is("draining"));
    EXPECT_EQ(scene.status(), 0);
}

TEST_F(Notify, OneThatSaysNothingIsReadyOnceItRuns) {
    scene.start({.holdfast = quickly, .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(phase_is("ready"));
}

TEST_F(Notify, WithReadyNotifyItIsStartingUntilItSaysSo) {
    scene.start({.holdfast = quickly + Words{"--ready", "notify"}, .command = home.animal("term_ignorer")});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(phase_is("starting"));
    EXPECT_EQ(ps().find("\"phase\":\"ready\""), std::string::npos);
}

TEST_F(Notify, TheManagerAboveHearsTheSame) {
    const std::string path = home.dir().file("notify");
    Manager manager(path);
    auto spec = home.command(Words{"run", "--stop", "term:1h,kill", "--"} +
                             home.animal("notifier", {"--steps=3", "--step-ms=1"}));
    spec.env.push_back("NOTIFY_SOCKET=" + path);
    spec.in = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    EXPECT_TRUE(manager.hears("STATUS=ready")) << manager.heard;
    EXPECT_NE(manager.heard.find("STATUS=step 3 of 3"), std::string::npos) << manager.heard;
    EXPECT_NE(manager.heard.find("READY=1"), std::string::npos) << manager.heard;
    ASSERT_TRUE(child->signal(SIGTERM));
    EXPECT_TRUE(manager.hears("STOPPING=1")) << manager.heard;
    const auto status = child->wait(Deadline::in(patience));
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->exited_with(0)) << to_string(*status);
}

// Readiness is not said for a helper that still starts: the manager would take traffic to a store that is not
// open.
TEST_F(Notify, TheManagerAboveIsNotToldReadyTooEarly) {
    const std::string path = home.dir().file("notify");
    Manager manager(path);
    auto spec = home.command(Words{"run", "--ready", "notify"} + quickly + Words{"--"} +
                             home.animal("notifier", {"--steps=5", "--step-ms=20"}));
    spec.env.push_back("NOTIFY_SOCKET=" + path);
    spec.in = Stdio::pipe;
    auto child = Child::spawn(spec);
    ASSERT_TRUE(child);
    EXPECT_TRUE(manager.hears("READY=1")) << manager.heard;
    EXPECT_LT(manager.heard.find("step 5 of 5"), manager.heard.find("READY=1")) << manager.heard;
}

} // namespace

} // namespace holdfast::harness
