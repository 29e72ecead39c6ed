// Real servers from npm behind npx, under a real host in node, killed in every order: nothing is left.
#include "harness/eventually.hpp"
#include "keep/fixture.hpp"

#include "json/json.hpp"

#include <filesystem>

#include <linux/close_range.h>
#include <unistd.h>

namespace holdfast::harness {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds slow{60}; // node takes its time on a busy machine

class Npx : public Keep {
protected:
    static void SetUpTestSuite() {
        if (::access("/usr/bin/npm", X_OK) != 0 && std::system("command -v npm >/dev/null 2>&1") != 0)
            return;
        have_npm = true;
        // Installed once, under the build directory, by the lock file.
        const fs::path from = fs::path(HOLDFAST_SOURCE_DIR) / "tests/e2e/npx";
        installed = fs::path(bin_dir()) / "../e2e/npx";
        fs::create_directories(installed);
        for (const char* file : {"package.json", "package-lock.json", "host.mjs", "timer_server.mjs"})
            fs::copy_file(from / file, installed / file, fs::copy_options::overwrite_existing);
        if (fs::exists(installed / "node_modules/.package-lock.json") &&
            fs::last_write_time(installed / "node_modules/.package-lock.json") >
                fs::last_write_time(from / "package-lock.json"))
            return;
        SpawnSpec spec;
        spec.argv = {"npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"};
        spec.cwd = installed.string();
        const auto done = run_to_end(spec, Deadline::in(480s));
        install_error = !done                         ? done.error().message
                        : done->status.exited_with(0) ? ""
                                                      : done->out + done->err;
    }
    void SetUp() override {
        if (!have_npm)
            GTEST_SKIP() << "npm is not installed";
        ASSERT_EQ(install_error, "") << "npm ci failed";
    }

    static Words everything() { return {"npx", "--no-install", "mcp-server-everything", "stdio"}; }
    static Words timer() { return {"npx", "-c", "node timer_server.mjs"}; }

    // node host.mjs [holdfast run … --] server; returns when the server has answered.
    void start(const Words& server, bool guarded = true, const Words& variables = {}) {
        auto spec = home.command({});
        Words guard{program("holdfast"), "run", "--stop", "eof:300ms,term:300ms,kill", "--"};
        spec.argv = Words{"node", "host.mjs"} + (guarded ? guard : Words{}) + server;
        spec.cwd = installed.string();
        spec.in = Stdio::pipe;
        spec.env.insert(spec.env.end(), variables.begin(), variables.end());
        spec.own_session = !guarded; // which dies with it: by that the doctor knows that it is dead
        auto child = Child::spawn(spec);
        ASSERT_TRUE(child) << child.error().message;
        host = std::move(*child);
        const auto line = host.out().read_line(Deadline::in(slow));
        ASSERT_TRUE(line) << line.error().message;
        ASSERT_TRUE(line->starts_with("ready ")) << *line;
        first = Other(static_cast<pid_t>(std::stol(line->substr(6))));
        if (guarded)
            keeper = keeper_of(first.pid());
        // Below the keeper: npx, perhaps a shell, and the server.
        chain.clear();
        for (const auto& process : descendants(guarded ? keeper.pid() : first.pid()))
            chain.emplace_back(process.pid);
        ASSERT_FALSE(chain.empty());
    }
    std::vector<ProcessInfo> left(std::chrono::milliseconds limit = slow) const {
        return settled_survivors(home.mark().token(), Deadline::in(limit), host.pid());
    }
    void expect_none() const {
        const auto found = left();
        EXPECT_TRUE(found.empty()) << to_string(found);
    }

    Child host;
    Other first; // the front, or npx itself
    Other keeper;
    std::vector<Other> chain;
    inline static bool have_npm = false;
    inline static std::string install_error;
    inline static fs::path installed;
};

TEST_F(Npx, ControlATimerServerOutlivesItsHost) {
    start(timer(), false);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(host.kill());
    EXPECT_FALSE(left(1s).empty());
}

// npm has loaded a package, and keeps the connection to its registry for minutes.
TEST_F(Npx, DoctorProvesAServerBehindNpxThatHasLoadedAPackage) {
    // What whoever started the tests left open would connect the server to a living process.
    ASSERT_EQ(::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC), 0);
    start({"npx", "-y", "--package=is-odd@3.0.1", "-c", "node timer_server.mjs"}, false,
          {"npm_config_cache=" + home.dir().file("cache"), "npm_config_update_notifier=false"});
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(host.kill());
    std::string said;
    EXPECT_TRUE(eventually(Deadline::in(slow), [&] {
        const auto report = boost::json::parse(holdfast({"doctor", "--json"}, slow).out);
        for (const auto& finding : report.at("findings").as_array())
            if (finding.at("pid").as_int64() == first.pid()) {
                said = boost::json::serialize(finding);
                return finding.at("proven").as_bool();
            }
        return false;
    })) << said;
    EXPECT_NE(said.find("package registry"), std::string::npos) << "npm had no connection any more: " << said;
    EXPECT_NE(said.find("\"command\":\"npm exec"), std::string::npos) << said;
    EXPECT_EQ(said.find("''"), std::string::npos) << "the zeros behind the title: " << said;
}

class NpxServer : public Npx, public testing::WithParamInterface<bool> {
protected:
    void start_one() { start(GetParam() ? timer() : everything()); }
};
INSTANTIATE_TEST_SUITE_P(Real, NpxServer, testing::Values(false, true),
                         [](const auto& one) { return one.param ? "Timer" : "Everything"; });

TEST_P(NpxServer, NothingIsLeftWhenTheHostIsKilled) {
    start_one();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(host.kill());
    expect_none();
}

TEST_P(NpxServer, NothingIsLeftWhenTheHostExits) {
    start_one();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(host.write_in("exit\n"));
    expect_none();
}

TEST_P(NpxServer, NothingIsLeftWhenTheHostClosesItPolitely) {
    start_one();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(host.write_in("end\n"));
    EXPECT_TRUE(host.out().read_until("gone ", Deadline::in(slow)));
    expect_none();
}

TEST_P(NpxServer, NothingIsLeftWhoeverIsKilledFirst) {
    // 0 the front, 1 the keeper, then npx and what is below it, down to the server.
    for (std::size_t victim = 0; victim < 2 || victim < chain.size() + 2; ++victim) {
        start_one();
        ASSERT_FALSE(HasFatalFailure());
        (victim == 0   ? first
         : victim == 1 ? keeper
                       : chain.at(std::min(victim - 2, chain.size() - 1)))
            .signal(SIGKILL);
        expect_none();
    }
}

TEST_P(NpxServer, NothingIsLeftWhenTheHostAndAGuardAreKilledTogether) {
    for (const bool front : {true, false}) {
        start_one();
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(host.signal(SIGKILL));
        (front ? first : keeper).signal(SIGKILL);
        expect_none();
    }
}

TEST_P(NpxServer, NothingIsLeftByTheNextStartWhenBothGuardsWereKilled) {
    start_one();
    ASSERT_FALSE(HasFatalFailure());
    first.freeze();
    keeper.signal(SIGKILL);
    EXPECT_TRUE(keeper.ended());
    first.signal(SIGKILL);
    EXPECT_TRUE(first.ended()); // a start in the instant before would still see it alive, and leave it alone
    EXPECT_TRUE(holdfast({"run", "--", "/bin/true"}, slow).status.exited_with(0));
    expect_none();
}

} // namespace

} // namespace holdfast::harness
