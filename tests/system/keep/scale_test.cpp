// Many at once, and many one after the other: everything ends, and nothing grows. HOLDFAST_SCALE=10 makes it
// ten times as much: 1,000 helpers at once and 10,000 cycles.
#include "keep/fixture.hpp"

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <thread>

namespace holdfast::harness {

namespace {

std::size_t scaled(std::size_t number) {
    const char* factor = std::getenv("HOLDFAST_SCALE");
    return number * (factor ? std::max(1UL, std::strtoul(factor, nullptr, 10)) : 1);
}

class Scale : public Keep {
protected:
    struct Use {
        std::size_t descriptors = 0;
        long resident_kb = 0;
        std::size_t children = 0; // zombies too
    };
    static Use use_of(pid_t pid) {
        Use out;
        std::error_code none;
        for ([[maybe_unused]] const auto& fd :
             std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", none))
            ++out.descriptors;
        const std::string status = read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
        std::smatch found;
        if (std::regex_search(status, found, std::regex("VmRSS:\\s+(\\d+)")))
            out.resident_kb = std::stol(found[1]);
        for (const auto& process : descendants(pid))
            out.children += process.ppid == pid;
        return out;
    }
    std::size_t restarts() const {
        const std::string json = ps();
        std::smatch found;
        return std::regex_search(json, found, std::regex("\"restarts\":(\\d+)")) ? std::stoul(found[1]) : 0;
    }
    // Looked at a few times a second: each look is a process of its own.
    bool restarted(std::size_t times) const {
        const auto limit = Deadline::in(std::chrono::seconds(scaled(90)));
        while (restarts() < times && !limit.passed())
            std::this_thread::sleep_for(200ms);
        return restarts() >= times;
    }
};

TEST_F(Scale, ManyHelpersAtOnceAreListedAndEnded) {
    const std::size_t many = scaled(100);
    std::vector<Child> fronts;
    for (std::size_t i = 0; i < many; ++i) {
        auto spec =
            home.command(Words{"run", "--stop", "now", "--"} + home.animal("timer_holder", {"--life=3600"}));
        spec.in = Stdio::pipe; // an end of input would end them
        auto child = Child::spawn(spec);
        ASSERT_TRUE(child) << child.error().message;
        fronts.push_back(std::move(*child));
    }
    for (Child& front : fronts)
        ASSERT_TRUE(front.out().read_until("ready", Deadline::in(120s)));
    EXPECT_TRUE(eventually(Deadline::in(60s), [&] { return count(ps(), "\"phase\":\"ready\"") == many; }));
    const auto stopped = holdfast({"stop", "--all"}, 120s);
    EXPECT_TRUE(stopped.status.exited_with(0)) << stopped.err;
    EXPECT_EQ(count(stopped.out, "stopped "), many);
    expect_nothing_left();
    EXPECT_EQ(ps(), "[]\n");
    (void)holdfast({"run", "--", "/bin/true"}); // clears away what a stop may have looked at and left
    EXPECT_TRUE(registry_ids(home).empty());
}

TEST_F(Scale, NothingGrowsOverManyRestarts) {
    const std::size_t many = scaled(1000);
    scene.start(
        {.host = {"--null"},
         .holdfast = {"--restart", "always", "--restart-delay", "0ms", "--restart-max", "0", "--stop", "now"},
         .command = home.animal("exiter", {"--report=" + home.dir().file("report.0")})});
    ASSERT_FALSE(HasFatalFailure());
    const std::size_t warm = 100; // the allocator has found its size by then
    ASSERT_TRUE(restarted(warm));
    const Use front = use_of(scene.front().pid()), keeper = use_of(scene.keeper().pid());
    ASSERT_TRUE(restarted(warm + many)) << restarts();
    for (const auto& [before, now] :
         {std::pair(front, use_of(scene.front().pid())), std::pair(keeper, use_of(scene.keeper().pid()))}) {
        // A descriptor or a child more is one that is being used while we look.
        EXPECT_LE(now.descriptors, before.descriptors + 2);
        EXPECT_LE(now.children, before.children + 2);
#ifndef __SANITIZE_ADDRESS__ // which keeps what was freed for a while
        EXPECT_LE(now.resident_kb, before.resident_kb + 128);
#endif
    }
    scene.front().signal(SIGTERM);
    expect_nothing_left();
}

TEST_F(Scale, NothingGrowsOverManyRuns) {
    const auto files = [&] {
        std::size_t found = 0;
        for ([[maybe_unused]] const auto& file : std::filesystem::recursive_directory_iterator(home.path()))
            ++found;
        return found;
    };
    (void)holdfast({"run", "--", "/bin/true"});
    const std::size_t before = files();
    for (std::size_t i = 0; i < scaled(100); ++i)
        ASSERT_TRUE(holdfast({"run", "--", "/bin/true"}).status.exited_with(0));
    EXPECT_EQ(files(), before);
    expect_nothing_left();
}

} // namespace

} // namespace holdfast::harness
