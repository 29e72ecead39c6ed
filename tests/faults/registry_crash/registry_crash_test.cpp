// A host is killed at every system call of registering and of adopting: what it had registered is never lost.
#include "harness/holdfast_program.hpp"
#include "harness/notify_file.hpp"
#include "holdfast/registry.hpp"
#include "slot/sweep.hpp"
#include "stepper/stepper.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace holdfast {
namespace {

using harness::Deadline;
using namespace std::chrono_literals;

class RegistryCrash : public testing::TestWithParam<stepper::When> {
protected:
    void SetUp() override {
        auto child = harness::Child::spawn(home_.command_of("zoo/timer_holder", {"--life=3600"}));
        ASSERT_TRUE(child) << child.error().message;
        worker_ = std::move(*child);
        ASSERT_TRUE(worker_.out().read_line(Deadline::in(20s)));
    }
    [[nodiscard]] std::string directory() const { return home_.path() + "/helpers"; }
    [[nodiscard]] stepper::Spec host(std::vector<std::string> words) const {
        stepper::Spec spec;
        spec.program = home_.command_of("stepped/stepped_host", std::move(words));
        return spec;
    }
    [[nodiscard]] Registry open() const {
        auto registry = Registry::open({.host = "stepped", .directory = directory()});
        EXPECT_TRUE(registry) << registry.error().message;
        return std::move(*registry);
    }
    [[nodiscard]] std::size_t files() const {
        std::size_t count = 0;
        if (std::filesystem::exists(directory()))
            for (const auto& file : std::filesystem::directory_iterator(directory()))
                count += file.is_regular_file() ? 1U : 0U;
        return count;
    }
    harness::HoldfastHome home_;
    harness::Child worker_;
};

TEST_P(RegistryCrash, WhileAdoptingLosesNothing) {
    std::string id;
    {
        Registry first = open();
        auto one = first.register_process(worker_.pid(), {.label = "worker", .session = "A", .task = "t"});
        ASSERT_TRUE(one) << one.error().message;
        id = one->id;
    }
    auto points = stepper::sweep(
        GetParam(), 3000, [&](std::size_t) { return host({"adopt", directory()}); },
        [&](std::size_t k, const stepper::Outcome& at) {
            Registry next = open();
            auto report = next.adopt_or_reap_after_restart(AfterRestart::adopt);
            ASSERT_TRUE(report) << report.error().message;
            ASSERT_EQ(report->adopted.size(), 1U) << "after a kill at call " << k << ", " << at.name;
            EXPECT_EQ(report->adopted[0].id, id);
            EXPECT_EQ(report->adopted[0].pid, worker_.pid());
            EXPECT_EQ(report->adopted[0].session, "A");
            EXPECT_EQ(report->adopted[0].task, "t");
        });
    ASSERT_TRUE(points) << points.error().message;
    EXPECT_GT(*points, 40U);
    EXPECT_TRUE(worker_.alive());
}

TEST_P(RegistryCrash, WhileRegisteringLeavesAllOrNothing) {
    std::size_t whole = 0;
    auto points = stepper::sweep(
        GetParam(), 3000,
        [&](std::size_t) { return host({"register", directory(), std::to_string(worker_.pid())}); },
        [&](std::size_t k, const stepper::Outcome& at) {
            Registry next = open();
            auto report = next.adopt_or_reap_after_restart(AfterRestart::adopt);
            ASSERT_TRUE(report) << report.error().message;
            for (const Registered& one : report->adopted) {
                ++whole;
                EXPECT_EQ(one.pid, worker_.pid());
                EXPECT_EQ(one.session, "A");
                EXPECT_TRUE(next.forget(one.id));
            }
            (void)slot::sweep(directory()); // as the next `holdfast run` does
            EXPECT_EQ(files(), 0U) << "after a kill at call " << k << ", " << at.name;
        });
    ASSERT_TRUE(points) << points.error().message;
    EXPECT_GT(*points, 40U);
    EXPECT_GT(whole, 0U) << "the last points come after the record was written";
    EXPECT_TRUE(worker_.alive());
}

INSTANTIATE_TEST_SUITE_P(Sides, RegistryCrash, testing::Values(stepper::When::entry, stepper::When::exit),
                         [](const auto& side) {
                             return side.param == stepper::When::entry ? "entry" : "exit";
                         });

} // namespace
} // namespace holdfast
