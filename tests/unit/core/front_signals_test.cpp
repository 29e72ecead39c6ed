#include "core/front_signals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <vector>

namespace holdfast::core {
namespace {

TEST(FrontSignals, EverySignalHasOneUse) {
    std::vector<int> own, paused, forwarded;
    for (const SignalRow& row : signal_table()) {
        EXPECT_EQ(use_of(row.number), row.use) << row.name;
        if (row.use == SignalUse::own)
            own.push_back(row.number);
        if (row.use == SignalUse::pause)
            paused.push_back(row.number);
        if (row.use == SignalUse::forward)
            forwarded.push_back(row.number);
    }
    EXPECT_EQ(own, (std::vector<int>{SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGPIPE,
                                     SIGCHLD, SIGSTOP, SIGSYS}));
    EXPECT_EQ(paused, (std::vector<int>{SIGTSTP, SIGTTIN, SIGTTOU}));
    EXPECT_EQ(forwarded,
              (std::vector<int>{SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGSTKFLT, SIGURG,
                                SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGWINCH, SIGIO, SIGPWR}));
    EXPECT_EQ(use_of(SIGTERM), SignalUse::stop_plan);
    EXPECT_EQ(use_of(SIGCONT), SignalUse::resume);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
        EXPECT_EQ(use_of(signal), SignalUse::forward) << signal;
    for (const int none : {-1, 0, 32, 33, SIGRTMAX + 1})
        EXPECT_EQ(use_of(none), SignalUse::own) << none;
}

TEST(FrontSignals, AllThatIsUsedIsHeard) {
    const auto heard = signals_of_use();
    for (int signal = 1; signal <= SIGRTMAX; ++signal)
        EXPECT_EQ(std::ranges::find(heard, signal) != heard.end(), use_of(signal) != SignalUse::own)
            << signal;
}

TEST(FrontSignals, OnlyWhatTheKernelSentToTheSharedGroupIsHadAlready) {
    for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGWINCH}) {
        EXPECT_EQ(deed_for(signal, {.from_kernel = true, .shares_group = true}), SignalDeed::nothing);
        EXPECT_EQ(deed_for(signal, {.from_kernel = true}), SignalDeed::forward);
        EXPECT_EQ(deed_for(signal, {.shares_group = true}), SignalDeed::forward);
    }
    EXPECT_EQ(deed_for(SIGHUP, {.from_kernel = true, .shares_group = true, .leads_session = true}),
              SignalDeed::forward);
    // A timer that was set before the exec is the command's.
    for (const int signal : {SIGALRM, SIGPROF, SIGVTALRM, SIGIO, SIGURG})
        EXPECT_EQ(deed_for(signal, {.from_kernel = true, .shares_group = true}), SignalDeed::forward);
}

TEST(FrontSignals, ALimitOfTheFrontIsItsOwn) {
    for (const int signal : {SIGXCPU, SIGXFSZ}) {
        EXPECT_EQ(deed_for(signal, {.from_kernel = true}), SignalDeed::nothing);
        EXPECT_EQ(deed_for(signal, {.from_self = true}), SignalDeed::nothing);
        EXPECT_EQ(deed_for(signal, {}), SignalDeed::forward);
    }
}

TEST(FrontSignals, StopSignalsStopBothUnlessNobodyCouldContinueThem) {
    for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) {
        EXPECT_EQ(deed_for(signal, {}), SignalDeed::stop_both);
        EXPECT_EQ(deed_for(signal, {.can_be_resumed = false}), SignalDeed::stop_both); // whoever sent it can
        EXPECT_EQ(deed_for(signal, {.from_kernel = true, .shares_group = true}), SignalDeed::stop_self);
        EXPECT_EQ(deed_for(signal, {.from_kernel = true, .shares_group = true, .can_be_resumed = false}),
                  SignalDeed::resume_command);
    }
    EXPECT_EQ(deed_for(SIGCONT, {}), SignalDeed::resume_both);
}

TEST(FrontSignals, TheSizeOfTheUsersTerminalIsCopiedToTheCommands) {
    EXPECT_EQ(deed_for(SIGWINCH, {.from_kernel = true, .own_terminal = true}), SignalDeed::copy_size);
    EXPECT_EQ(deed_for(SIGWINCH, {.own_terminal = true}), SignalDeed::copy_size);
}

} // namespace
} // namespace holdfast::core
