// The two commands, from outside.
#include "mess_fixture.hpp"
#include "json/json_parse.hpp"

#include "json/json_fields.hpp"

namespace holdfast::doctor {
namespace {

class DoctorCommand : public MadeUpMess {
protected:
    harness::Finished holdfast(std::vector<std::string> words) {
        auto finished = home.run(std::move(words), harness::Deadline::in(60s));
        EXPECT_TRUE(finished) << finished.error().message;
        return finished.value_or(harness::Finished{});
    }
    [[nodiscard]] std::string under() const { return std::to_string(mess.pid()); }
    // Of all true orphans: how many are still there?
    [[nodiscard]] std::size_t orphans_alive() const {
        std::size_t count = 0;
        for (const Truth& truth : truths)
            if (truth.expectation == "orphaned!")
                for (int pid : truth.pids)
                    count += alive(pid) ? 1U : 0U;
        return count;
    }
};

// Each command is asked until one look has seen all of it: on a crowded machine some of it may not look idle.
TEST_F(DoctorCommand, TellsThenShowsThenEnds) {
    const auto soon = [] { return harness::Deadline::in(60s); };
    const std::size_t orphans = orphans_alive();
    ASSERT_GT(orphans, 10U);
    harness::Finished told;
    EXPECT_TRUE(harness::eventually(soon(), [&] {
        told = holdfast({"doctor", "--json", "--under", under()});
        EXPECT_TRUE(told.status.exited_with(0)) << told.err;
        auto report = json::parse_object(told.out);
        EXPECT_TRUE(report) << told.out;
        if (!report)
            return true;
        const auto& totals = report->at("totals").as_object();
        const auto found = json::unsigned_field(totals.at("reapable").as_object(), "processes");
        EXPECT_LE(found, orphans) << told.out;
        return found == orphans || HasFailure();
    })) << told.out;

    EXPECT_TRUE(harness::eventually(soon(), [&] {
        told = holdfast({"doctor", "--under", under()});
        EXPECT_TRUE(told.status.exited_with(0));
        return told.out.contains("Proven left over: " + std::to_string(orphans) + " processes") ||
               HasFailure();
    })) << told.out;

    auto shown = holdfast({"reap", "--under", under()});
    EXPECT_TRUE(shown.status.exited_with(0)) << shown.err;
    EXPECT_TRUE(shown.out.contains("dry run")) << shown.out;
    EXPECT_EQ(orphans_alive(), orphans);

    harness::Finished ended;
    EXPECT_TRUE(harness::eventually(harness::Deadline::in(120s), [&] {
        ended = holdfast({"reap", "--yes", "--json", "--grace", "500ms", "--under", under()});
        EXPECT_TRUE(ended.status.exited_with(0)) << ended.err;
        auto answer = json::parse_object(ended.out);
        EXPECT_TRUE(answer && json::bool_field(*answer, "complete")) << ended.out;
        return orphans_alive() == 0 || HasFailure();
    })) << ended.out;
    for (const Truth& truth : truths)
        for (int pid : truth.pids)
            EXPECT_TRUE(alive(pid) || truth.expectation == "orphaned!" || truth.expectation == "zombie!")
                << truth.name;
}

TEST_F(DoctorCommand, WrongWordsAreNamed) {
    auto no_number = holdfast({"reap", "--yes", "--under", "everything"});
    EXPECT_TRUE(no_number.status.exited_with(64));
    EXPECT_TRUE(no_number.err.contains("\"everything\"")) << no_number.err;
    auto nobody = holdfast({"doctor", "--under", "1073741823"});
    EXPECT_TRUE(nobody.status.exited_with(3));
    EXPECT_TRUE(nobody.err.contains("no process 1073741823")) << nobody.err;
    EXPECT_GT(orphans_alive(), 10U);
}

} // namespace
} // namespace holdfast::doctor
