// doctor on a made-up mess: every true finding, no false one.
#include "mess_fixture.hpp"

#include "base/text.hpp"
#include "harness/eventually.hpp"

#include <algorithm>

namespace holdfast::doctor {
namespace {

using Seen = std::multiset<std::pair<std::string, std::set<int>>>; // kind with ! or ?, processes

std::string to_string(const Seen& seen) {
    std::string out;
    for (const auto& [kind, pids] : seen) {
        out += kind;
        for (int pid : pids)
            out += base::cat(" ", pid);
        out += "\n";
    }
    return out;
}

// A doubt more than expected is no false finding: where a proof is expected, being unsure is one look's
// answer.
Seen weakened(const Seen& found, const Seen& expected) {
    Seen out;
    for (auto [kind, pids] : found) {
        std::string proven = kind.substr(0, kind.size() - 1) + "!";
        out.insert({kind.ends_with('?') && expected.contains({proven, pids}) ? proven : kind, pids});
    }
    return out;
}

class Doctor : public MadeUpMess {};

TEST_F(Doctor, FindsEveryTrueThingAndNoFalseOne) {
    ASSERT_GE(harness::descendants(mess.pid()).size(), 50U);
    Seen expected;
    for (const Truth& truth : truths)
        if (truth.expectation != "innocent")
            expected.insert({truth.expectation, truth.pids});
    ASSERT_GE(expected.size(), 20U);

    // No false one at any look. Every true one at some look: what waits for a processor all the time is not
    // called idle, and on a crowded machine that may be anybody for a while.
    Report report;
    Seen found;
    const bool all_found = harness::eventually(harness::Deadline::in(std::chrono::seconds(60)), [&] {
        report = examined();
        found.clear();
        for (const core::Finding& finding : report.findings) {
            std::string kind = std::string(core::name_of(finding.kind)) + (finding.proven ? "!" : "?");
            found.insert({kind, std::set<int>(finding.pids.begin(), finding.pids.end())});
            EXPECT_FALSE(finding.rule.empty());
            EXPECT_FALSE(finding.evidence.empty());
            EXPECT_EQ(finding.proven, finding.doubts.empty());
        }
        EXPECT_TRUE(std::ranges::includes(expected, weakened(found, expected)))
            << to_string(found) << to_text(report);
        return found == expected || HasFailure();
    });
    EXPECT_TRUE(all_found && found == expected) << "found:\n"
                                                << to_string(found) << "expected:\n"
                                                << to_string(expected) << to_text(report);
}

TEST_F(Doctor, SaysTheReasonsOfItsDoubts) {
    std::map<std::string, std::string> reasons = {{"busy", "at work"},           {"unix_listener", "listens"},
                                                  {"tcp_listener", "network"},   {"unread_input", "not read"},
                                                  {"terminal", "terminal"},      {"log_writer", "file"},
                                                  {"generation", "about to end"}};
    // Each with its one reason at some look: a crowded machine may give others besides.
    for (const auto& [name, reason] : reasons) {
        const int pid = *truth(name).pids.begin();
        (void)examined_until([&](const Report& report) {
            const auto about = std::ranges::find_if(
                report.findings, [&](const core::Finding& finding) { return finding.identity.pid == pid; });
            if (about == report.findings.end())
                return false;
            EXPECT_FALSE(about->proven) << name << to_text(report);
            return about->doubts.size() == 1 && about->doubts[0].contains(reason);
        });
    }
}

// The mechanism off: believing every dead starter, without asking for the other ends, condemns the innocent.
TEST_F(Doctor, NegativeControlWithoutTheChannelCheckInnocentsAreCondemned) {
    options.without_channel_check = true;
    (void)examined_until([&](const Report& report) {
        std::set<int> condemned;
        for (const core::Finding& finding : report.findings)
            if (finding.proven && finding.kind == core::FindingKind::orphaned)
                condemned.insert(finding.pids.begin(), finding.pids.end());
        return condemned.contains(*truth("nohup").pids.begin()) &&
               condemned.contains(*truth("daemon").pids.begin());
    });
}

TEST_F(Doctor, LooksOnlyWhereItIsTold) {
    options.under = *truth("launcher").pids.begin();
    (void)examined_until([](const Report& report) {
        EXPECT_LE(report.findings.size(), 1U) << to_text(report);
        return report.findings.size() == 1;
    });
    options.under = *truth("in_use").pids.begin();
    EXPECT_TRUE(examined().findings.empty());
}

TEST_F(Doctor, SaysThatThereIsNobodyToLookUnder) {
    options.under = 0x3fffffff;
    auto report = examine(options);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::not_found);
}

} // namespace
} // namespace holdfast::doctor
