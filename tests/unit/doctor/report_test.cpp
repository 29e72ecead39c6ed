#include "doctor/doctor.hpp"
#include "json/json_fields.hpp"
#include "json/json_parse.hpp"

#include <gtest/gtest.h>

namespace holdfast::doctor {
namespace {

core::Finding orphan(int pid) {
    core::Finding out;
    out.kind = core::FindingKind::orphaned;
    out.proven = true;
    out.identity.pid = pid;
    out.command = "node server.js";
    out.uid = 1000;
    out.pids = {pid, pid + 1};
    out.age_ms = 7'440'000;
    out.memory = 12 << 20;
    out.rule = "a rule";
    out.evidence = {"something seen"};
    return out;
}

core::Finding suspect(int pid) {
    core::Finding out = orphan(pid);
    out.proven = false;
    out.doubts = {"a doubt"};
    return out;
}

TEST(DoctorText, NothingFoundSaysHowMuchWasLookedAt) {
    Report report;
    report.processes = 12;
    report.unreadable = 3;
    auto text = to_text(report);
    EXPECT_TRUE(text.starts_with("Nothing found. Looked at 12 processes")) << text;
    EXPECT_TRUE(text.contains("3 are not yours to see")) << text;
}

TEST(DoctorText, EachFindingWithEvidenceAgeAndMemoryAndTotals) {
    Report report;
    report.findings = {orphan(4711), suspect(20)};
    auto text = to_text(report);
    EXPECT_TRUE(text.contains("FINDING   SURE        PID")) << text;
    EXPECT_TRUE(text.contains("orphaned  proven     4711  2 h 4 min  12.0 MB      2  node server.js\n"))
        << text;
    EXPECT_TRUE(text.contains("orphaned  suspected    20  2 h 4 min")) << text;
    EXPECT_TRUE(text.contains("seen: something seen\n")) << text;
    EXPECT_TRUE(text.contains("but:  a doubt\n")) << text;
    EXPECT_TRUE(text.contains("Proven left over: 2 processes in 1 tree, 12.0 MB. Suspected: 1 finding"))
        << text;
    EXPECT_TRUE(text.contains("Next: `holdfast reap`")) << text;
}

TEST(DoctorText, WithoutAProvenOneItDoesNotPointToReap) {
    Report report;
    report.findings = {suspect(20)};
    EXPECT_TRUE(to_text(report).contains("`holdfast reap` would end nothing"));
}

TEST(DoctorJson, SaysTheSame) {
    Report report;
    report.processes = 9;
    report.findings = {orphan(4711), suspect(20)};
    auto parsed = json::parse_object(to_json(report));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(json::integer_field(*parsed, "schema"), 1);
    EXPECT_EQ(json::integer_field(*parsed, "processes"), 9);
    const auto& findings = parsed->at("findings").as_array();
    ASSERT_EQ(findings.size(), 2U);
    const auto& first = findings[0].as_object();
    EXPECT_EQ(json::text_field(first, "kind"), "orphaned");
    EXPECT_TRUE(json::bool_field(first, "proven"));
    EXPECT_TRUE(json::bool_field(first, "reapable"));
    EXPECT_EQ(json::integer_field(first, "pid"), 4711);
    EXPECT_EQ(json::integer_field(first, "age_ms"), 7'440'000);
    EXPECT_EQ(json::texts_field(first, "evidence"), std::vector<std::string>{"something seen"});
    const auto& totals = parsed->at("totals").as_object();
    EXPECT_EQ(json::integer_field(totals.at("proven").as_object(), "processes"), 2);
    EXPECT_EQ(json::integer_field(totals.at("reapable").as_object(), "memory_bytes"), 12 << 20);
    EXPECT_EQ(json::integer_field(totals.at("suspected").as_object(), "findings"), 1);
}

TEST(ReapText, ADryRunSaysSo) {
    ReapReport report;
    report.processes = {
        {.pid = 5, .root = 5, .command = "x", .outcome = Outcome::would_end, .memory = 1 << 20}};
    auto text = to_text(report);
    EXPECT_TRUE(text.contains("would end")) << text;
    EXPECT_TRUE(text.contains("dry run")) << text;
    EXPECT_TRUE(text.contains("--yes")) << text;
}

TEST(ReapText, ASurvivorIsNamedAndTheReportIsNotComplete) {
    ReapReport report;
    report.dry_run = false;
    report.processes = {{.pid = 5, .root = 5, .command = "x", .outcome = Outcome::killed},
                        {.pid = 6, .root = 5, .command = "y", .outcome = Outcome::survived}};
    EXPECT_FALSE(report.complete());
    auto text = to_text(report);
    EXPECT_TRUE(text.contains("SURVIVED")) << text;
    EXPECT_TRUE(text.contains("STILL THERE: 1 process")) << text;
    auto parsed = json::parse_object(to_json(report));
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(json::bool_field(*parsed, "complete"));
    EXPECT_EQ(json::text_field(parsed->at("processes").as_array()[1].as_object(), "outcome"), "survived");
}

TEST(ReapText, NothingToEnd) {
    ReapReport report;
    report.suspected_left_alone = 2;
    auto text = to_text(report);
    EXPECT_TRUE(text.starts_with("Nothing is proven")) << text;
    EXPECT_TRUE(text.contains("2 suspected findings were left alone")) << text;
}

} // namespace
} // namespace holdfast::doctor
