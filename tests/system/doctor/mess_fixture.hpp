// Starts the made-up mess and reads the truth about it.
#pragma once

#include "doctor/doctor.hpp"
#include "harness/eventually.hpp"
#include "harness/holdfast_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <sstream>

namespace holdfast::doctor {

using namespace std::chrono_literals;
using harness::Child;

class MadeUpMess : public testing::Test {
protected:
    struct Truth {
        std::string expectation; // "orphaned!", "dropped?", "innocent"
        std::string name;
        std::set<int> pids;
    };

    void SetUp() override {
        auto spec = home.command_of("doctor_mess", {home.mark().token(), home.path()});
        auto child = Child::spawn(spec);
        ASSERT_TRUE(child) << child.error().message;
        mess = std::move(*child);
        for (;;) {
            auto line = mess.out().read_line(harness::Deadline::in(60s));
            ASSERT_TRUE(line) << line.error().message;
            std::istringstream words(*line);
            Truth truth;
            words >> truth.expectation >> truth.name;
            for (int pid = 0; words >> pid;)
                truth.pids.insert(pid);
            ASSERT_FALSE(truth.pids.empty()) << *line;
            if (truth.expectation == "ready")
                break;
            truths.push_back(std::move(truth));
        }
        options.under = mess.pid(); // never anybody else's
        options.settled_age = base::Millis(0);
    }

    [[nodiscard]] static bool alive(int pid) {
        auto info = harness::inspect(pid);
        return info && !info->dead();
    }

    [[nodiscard]] const Truth& truth(const std::string& name) const {
        for (const Truth& one : truths)
            if (one.name == name)
                return one;
        throw std::out_of_range(name);
    }

    [[nodiscard]] Report examined() const {
        auto report = examine(options);
        EXPECT_TRUE(report) << report.error().message;
        return report.value_or(Report{});
    }

    // Looks until what `enough` asks for is seen. What waits for a processor all the time is not called idle,
    // and on a crowded machine that may be anybody for a while: so a true finding is one of some look, while
    // a false one is wrong at any.
    template <class Enough>
    [[nodiscard]] Report examined_until(Enough enough) const {
        Report report;
        const bool seen = harness::eventually(harness::Deadline::in(60s), [&] {
            report = examined();
            return enough(report) || HasFailure();
        });
        EXPECT_TRUE(seen) << "not seen at any look:\n" << to_text(report);
        return report;
    }
    [[nodiscard]] static std::set<int> proven_orphans(const Report& report) {
        std::set<int> out;
        for (const core::Finding& finding : report.findings)
            if (finding.reapable())
                out.insert(finding.pids.begin(), finding.pids.end());
        return out;
    }
    // Those of the mess that are.
    [[nodiscard]] std::set<int> true_orphans() const {
        std::set<int> out;
        for (const Truth& truth : truths)
            if (truth.expectation == "orphaned!")
                out.insert(truth.pids.begin(), truth.pids.end());
        return out;
    }
    // A look at which all true orphans are proven, and never one that is none.
    [[nodiscard]] Report all_proven() const {
        const std::set<int> all = true_orphans();
        return examined_until([&](const Report& report) {
            const std::set<int> proven = proven_orphans(report);
            EXPECT_TRUE(std::ranges::includes(all, proven)) << to_text(report);
            return proven == all;
        });
    }
    // A look at which this one is proven.
    [[nodiscard]] Report proven(int pid) const {
        return only(
            examined_until([&](const Report& report) { return proven_orphans(report).contains(pid); }), pid);
    }

    // Only this one finding, so that a test ends nothing else.
    [[nodiscard]] static Report only(Report report, int pid) {
        std::erase_if(report.findings, [&](const core::Finding& f) { return f.identity.pid != pid; });
        EXPECT_EQ(report.findings.size(), 1U);
        return report;
    }

    harness::HoldfastHome home; // its token ends everything at the end of the test
    Child mess;
    std::vector<Truth> truths;
    ExamineOptions options;
};

} // namespace holdfast::doctor
