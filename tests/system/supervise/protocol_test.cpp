// A library and a keeper of different releases: neither starts anything with the other, and both versions are
// named, with the way out.
#include "keep/control.hpp"
#include "supervise/fixture.hpp"
#include "sys/fd.hpp"
#include "sys/spawn.hpp"

#include <poll.h>

#include <filesystem>

namespace holdfast::supervise_test {

namespace {

const std::string ours = "version " + std::to_string(keep::protocol_version);

class KeeperProtocol : public SupervisorTest {
protected:
    // What becomes of a helper whose keeper says this as its first word.
    Error failure_with(const char* first_word) {
        SupervisorOptions options;
        options.keeper_program = harness::program("zoo/other_keeper");
        auto supervisor = Supervisor::create(options);
        EXPECT_TRUE(supervisor.has_value());
        HelperSpec spec = helper();
        spec.respawn.initial = 1ms;
        spec.respawn.max_failures = 2;
        if (first_word != nullptr)
            spec.extra_environment = {std::string("OTHER_KEEPER=") + first_word};
        auto hold = supervisor->hold(spec);
        const auto ready = hold->wait_ready(patient(10s));
        EXPECT_FALSE(ready.has_value());
        starts = hold->status().starts;
        return ready ? Error{} : ready.error();
    }

    // What the real keeper says first, started with this word by a library.
    std::string answer_to(const std::string& protocol) {
        auto pair = keep::Control::make_pair();
        sys::SpawnSpec spec;
        spec.executable = harness::program("holdfast-keep");
        spec.argv = {"holdfast-keep", "--id=0123456789ab", "--control=240", "--"};
        if (!protocol.empty())
            spec.argv.insert(spec.argv.begin() + 1, protocol);
        for (const std::string& word : home.animal("term_ignorer", {"--report=" + started.string()}))
            spec.argv.push_back(word);
        spec.fds = {{pair->second.fd(), 240}};
        auto keeper = sys::spawn(spec);
        EXPECT_TRUE(keeper.has_value());
        const Deadline deadline = Deadline::in(10s);
        pollfd one{.fd = pair->first.fd(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(::poll(&one, 1, deadline.remaining_ms()), 1);
        keep::Message message;
        std::string text;
        if (pair->first.receive(message) == keep::Control::State::message) {
            text = message.word;
            for (const std::string& value : message.values)
                text += " " + value;
        }
        pair->first.send("stop asked_now");
        EXPECT_TRUE(harness::wait_pidfd(keeper->fd(), deadline).has_value());
        static_cast<void>(keeper->try_reap());
        return text;
    }

    const std::filesystem::path started = home.dir().path() / "started";
    std::uint64_t starts = 0;
};

} // namespace

TEST_F(KeeperProtocol, ALibraryRefusesAKeeperOfAnotherVersion) {
    const Error error = failure_with("spawned %d plain 7");
    EXPECT_EQ(error.code, Errc::gave_up);
    for (const char* part : {"version 7", ours.c_str(), "HOLDFAST_KEEP"})
        EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
    EXPECT_EQ(starts, 1U); // to try again cannot help
    expect_nothing_left(); // of what it had started
}

TEST_F(KeeperProtocol, AKeeperThatNamesNoVersionIsAnOlderOne) {
    const Error error = failure_with("spawned %d plain");
    EXPECT_NE(error.message.find("an older one"), std::string::npos) << error.message;
    EXPECT_EQ(starts, 1U);
    expect_nothing_left();
}

TEST_F(KeeperProtocol, WhatAKeeperRefusesIsTheHelpersFailure) {
    const Error error = failure_with("refused holdfast-keep speaks version 7 and the library version 1");
    EXPECT_EQ(error.code, Errc::gave_up);
    EXPECT_NE(error.message.find("speaks version 7 and"), std::string::npos) << error.message;
    EXPECT_EQ(starts, 1U);
    expect_nothing_left();
}

// The keepers before the first version do not know the word for it, and say so on stderr only.
TEST_F(KeeperProtocol, AKeeperThatEndsWithoutAWordMayBeOfAnotherRelease) {
    const Error error = failure_with(nullptr);
    EXPECT_EQ(error.code, Errc::gave_up);
    for (const char* part : {"zoo/other_keeper ended before", "another release"})
        EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
    EXPECT_GT(starts, 1U); // it may also have been killed
}

TEST_F(KeeperProtocol, AKeeperRefusesALibraryOfAnotherVersionAndStartsNothing) {
    const std::string newer = answer_to("--protocol=" + std::to_string(keep::protocol_version + 1));
    EXPECT_TRUE(newer.starts_with("refused holdfast-keep speaks " + ours)) << newer;
    EXPECT_NE(newer.find("version " + std::to_string(keep::protocol_version + 1)), std::string::npos)
        << newer;
    const std::string older = answer_to("");
    EXPECT_NE(older.find("an older one"), std::string::npos) << older;
    EXPECT_FALSE(std::filesystem::exists(started));
    // With its own version it does start it.
    const std::string same = answer_to(keep::protocol_word());
    EXPECT_TRUE(same.starts_with("spawned ")) << same;
    EXPECT_TRUE(same.ends_with(" " + std::to_string(keep::protocol_version))) << same;
}

} // namespace holdfast::supervise_test
