// The supervisor's figures, as rows of a Markdown table, each beside the same helper on a bare pair of pipes.
//   supervise-bench [--quick] [--only SECTION]...    sections: calls scheduled respawn holds flood
#include "holdfast/supervisor.hpp"
#include "stage/pairs.hpp"
#include "stage/placing.hpp"
#include "stage/stage.hpp"
#include "stage/words.hpp"

#include "harness/pidfd.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <memory>
#include <unistd.h>

namespace holdfast::bench {

namespace {

constexpr double us = 1000; // in a millisecond

Supervisor make_supervisor(const harness::HoldfastHome& home) {
    ::setenv("HOLDFAST_HOME", home.path().c_str(), 1);
    ::setenv("HOLDFAST_KEEP", harness::program("holdfast-keep").c_str(), 1);
    auto made = Supervisor::create();
    if (!made)
        give_up(made.error().message);
    return std::move(*made);
}

HelperSpec spec_of(const harness::HoldfastHome& home) {
    HelperSpec spec;
    spec.command = home.animal("rpc_helper", {"--life=600"});
    spec.respawn = {.first = Millis{0}, .initial = Millis{0}, .max = Millis{0}, .max_failures = 0};
    return spec;
}

Hold take(Supervisor& supervisor, const HelperSpec& spec) {
    auto hold = supervisor.hold(spec);
    if (!hold)
        give_up(hold.error().message);
    return std::move(*hold);
}

Reply ask(Hold& hold, const char* method, const char* params) {
    auto reply = hold.request(method, params);
    if (!reply)
        give_up(reply.error().message);
    return std::move(*reply);
}

// The same helper without anything in between: two pipes, a blocking write, blocking reads up to the line's
// end.
class Bare {
public:
    explicit Bare(const harness::HoldfastHome& home) {
        auto spec = home.command({});
        spec.argv = home.animal("rpc_helper", {"--life=600"});
        spec.in = harness::Stdio::pipe;
        auto child = harness::Child::spawn(spec);
        if (!child)
            give_up(child.error().message);
        child_ = std::move(*child);
        const int fd = child_.out().fd(); // a plain client blocks in read
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    }
    void echo() {
        const std::string request = R"({"jsonrpc":"2.0","id":7,"method":"echo","params":{"text":"hello"}})"
                                    "\n";
        if (::write(child_.in_fd(), request.data(), request.size()) != static_cast<ssize_t>(request.size()))
            give_up("the bare helper does not read");
        char buffer[4096];
        for (;;) {
            const ssize_t n = ::read(child_.out().fd(), buffer, sizeof buffer);
            if (n <= 0)
                give_up("the bare helper does not answer");
            if (buffer[n - 1] == '\n')
                return;
        }
    }
    void kill() { static_cast<void>(child_.kill()); }
    [[nodiscard]] pid_t pid() const { return child_.pid(); }

private:
    harness::Child child_;
};

double resident_kb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:"))
            return std::atof(line.c_str() + 6);
    give_up("no memory figures");
}

// Each block of 500 gives one figure, so that a pair is two blocks within milliseconds.
void measure_round_trip(const Run& run, int rounds) {
    const harness::HoldfastHome home;
    Supervisor supervisor = make_supervisor(home);
    Hold hold = take(supervisor, spec_of(home));
    Bare bare(home);
    const pid_t helper = std::atoi(ask(hold, "pid", "{}").json.c_str());
    for (const Placing placing : placings()) {
        const Placed placed(placing, {helper, bare.pid()});
        const auto block = [](const std::function<void()>& round_trip, double share) {
            std::vector<double> trips;
            for (int i = 0; i < 500; ++i) {
                const double begin = now_ms();
                round_trip();
                trips.push_back((now_ms() - begin) * us);
            }
            return quantile(trips, share);
        };
        const auto ours = [&] { ask(hold, "echo", R"({"text":"hello"})"); };
        const auto base = [&] { bare.echo(); };
        const std::string name = "request round trip, " + words_of(placing);
        for (const auto& [share, what] : {std::pair(0.5, name + ", p50"), std::pair(0.9, name + ", p90")})
            pair_row(
                run,
                {.what = what,
                 .beside = "a bare pair of pipes",
                 .unit = "µs",
                 .more_at_most = share == 0.5 ? std::optional(15.0) : std::nullopt},
                rounds, [&, share = share](const Programs&) { return block(ours, share); },
                [&, share = share] { return block(base, share); });
    }
}

void measure_scheduled(int pairs) {
    struct Pair {
        harness::HoldfastHome home;
        Supervisor supervisor = make_supervisor(home);
        Hold hold = take(supervisor, spec_of(home));
        Bare bare{home};
    };
    measure_draws("request round trip", pairs, "at most 15 µs more", [] {
        const auto pair = std::make_shared<Pair>();
        return DrawnPair{[pair] { ask(pair->hold, "echo", R"({"text":"hello"})"); },
                         [pair] { pair->bare.echo(); }};
    });
}

void measure_respawn(const Run& run, int rounds) {
    const harness::HoldfastHome home;
    Supervisor supervisor = make_supervisor(home);
    Hold hold = take(supervisor, spec_of(home));
    const auto ours = [&](const Programs&) {
        const pid_t pid = std::atoi(ask(hold, "pid", "{}").json.c_str());
        auto process = harness::open_pidfd(pid);
        if (!process)
            give_up("the helper is not there");
        const double begin = now_ms();
        harness::pidfd_signal(process->get(), SIGKILL);
        if (!harness::wait_pidfd(process->get(), harness::Deadline::in(patience)))
            give_up("the helper does not end");
        ask(hold, "echo", "{}");
        return now_ms() - begin;
    };
    const auto bare = [&] {
        Bare old(home);
        old.echo();
        const double begin = now_ms();
        old.kill();
        Bare fresh(home);
        fresh.echo();
        const double took = now_ms() - begin;
        fresh.kill();
        return took;
    };
    pair_row(run,
             {.what = "kill -9 to the first answer of the replacement",
              .beside = "kill, bare start, first answer",
              .unit = "ms",
              .more_at_most = 2},
             rounds, ours, bare);
}

void measure_holds(int count) {
    const harness::HoldfastHome home;
    Supervisor supervisor = make_supervisor(home);
    const HelperSpec spec = spec_of(home);
    Hold kept = take(supervisor, spec);
    ask(kept, "echo", "{}");
    std::vector<Hold> holds;
    holds.reserve(static_cast<std::size_t>(count));
    const double memory = resident_kb();
    std::vector<double> each;
    for (int i = 0; i < count; ++i) {
        const double begin = now_ms();
        holds.push_back(take(supervisor, spec));
        each.push_back((now_ms() - begin) * us);
    }
    // Its own record of times is not what a hold costs.
    const double figures = static_cast<double>(each.capacity() * sizeof(double)) / 1024;
    const double grown = resident_kb() - memory - figures;
    value_row("hold on a live helper, p50", quantile(each, 0.5), "µs", 5);
    value_row("memory of one more hold", grown * 1024 / count, "bytes", 4096);
}

void measure_in_flight() {
    const harness::HoldfastHome home;
    Supervisor supervisor = make_supervisor(home);
    const HelperSpec spec = spec_of(home);
    Hold greedy = take(supervisor, spec);
    Hold modest = take(supervisor, spec);
    const pid_t pid = std::atoi(ask(greedy, "pid", "{}").json.c_str());
    auto process = harness::open_pidfd(pid);
    if (!process)
        give_up("the helper is not there");
    harness::pidfd_signal(process->get(), SIGSTOP); // all of them are in flight before the first answer
    std::atomic<int> done = 0;
    std::atomic<int> before_modest = -1;
    const double memory = resident_kb();
    constexpr int count = 100'000;
    const RequestOptions patient{.timeout = Millis{300'000}};
    const double asked = now_ms();
    for (int i = 0; i < count; ++i)
        if (!greedy.start("echo", R"({"text":"hello"})", patient,
                          [&](Result<Reply> reply) { done += reply.has_value(); }))
            give_up("a request was refused");
    const double submitted = now_ms();
    const double grown = resident_kb() - memory;
    if (!modest.start("echo", "{}", patient, [&](const Result<Reply>&) { before_modest = done.load(); }))
        give_up("a request was refused");
    harness::pidfd_signal(process->get(), SIGCONT);
    if (!harness::eventually(harness::Deadline::in(std::chrono::seconds(300)), [&] { return done == count; }))
        give_up("not all requests were answered");
    row("100,000 requests in flight: one submitted in", (submitted - asked) * us / count, -1, "µs", "");
    row("... answered, each", (now_ms() - submitted) * us / count, -1, "µs", "all answered");
    row("... memory of one", grown * 1024 / count, -1, "bytes", "bounded");
    row("... answered before the one request of another hold that came last", before_modest, -1, "",
        "what was in the pipe");
}

} // namespace

} // namespace holdfast::bench

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    const Given given = read_words(argc, argv, {"calls", "scheduled", "respawn", "holds", "flood"}, {});
    if (given.run.other)
        give_up("the library is part of this program, so there is no other commit to measure");
    const bool quick = given.quick;
    pair_head(given.run);
    if (given.wants("calls"))
        measure_round_trip(given.run, quick ? 5 : 40);
    if (given.wants("scheduled"))
        measure_scheduled(quick ? 5 : 40);
    if (given.wants("respawn"))
        measure_respawn(given.run, quick ? 10 : 100);
    if (given.wants("holds"))
        measure_holds(quick ? 5'000 : 20'000);
    if (given.wants("flood"))
        measure_in_flight();
    return 0;
}
