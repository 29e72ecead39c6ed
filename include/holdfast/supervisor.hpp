// One helper per host process and key, alive exactly as long as somebody holds it.
//
//   auto supervisor = holdfast::Supervisor::create();
//   auto hold = supervisor->hold({.command = {"memory-bridge", "--stdio"}});     // starts it, or joins it
//   auto reply = hold->request("memory.search", R"({"query":"tea"})");
//
// Ownership: the helper belongs to the supervisor; everybody else has a Hold. The first hold starts the
// helper, the last release (a dropped Hold is released) ends it, after the linger if there is one. Zero
// holds, zero processes, and nothing revives it.
//
// Generations: each start has a number. A helper that dies while it is held is replaced once, at a growing
// pace; requests that were sent to it fail with "transport closed, generation n", requests made meanwhile
// wait within their own deadline. A helper that fails too often is given up: every request says why, and how
// to try again.
//
// Threads: all functions of all classes may be called from any thread, at the same time too; so a Hold may be
// released while others use it. Only moving or destroying an object is for one thread alone.
//
// Callbacks run on threads of the supervisor, never on the caller's, and may call anything here. A slow one
// delays no answer to who waits (request(), PendingCall), and others are called beside it: up to 64 that take
// an answer; up to 64 holds with a subscriber at work, one notification of a hold at a time, in order; up to
// 16 handlers of a helper's requests, and 256 in all. At the bound the next waits for one to return.
// Callbacks for answers are called in no particular order, exactly once each, also when the supervisor goes:
// those that are still to be called then are called after its destructor has waited a second for them.
// Notifications and requests of the helper that nobody has begun with are dropped with it.
//
// fork(): in the child of a fork nothing of this works (`closed`), nothing is ended, and the parent notices
// nothing.
#pragma once

#include "holdfast/result.hpp"
#include "holdfast/slot.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

using Generation = std::uint64_t; // of a helper; 1 is its first start

namespace supervise {
class Conversation;
class Core;
class CallState;
class SessionState;
struct IncomingState;
struct RegistrationState;
} // namespace supervise

enum class RpcFraming { newline, content_length };

// How the helper is told that an answer is no longer wanted.
enum class RpcCancel { silent, lsp, mcp };

enum class ReadyBy {
    start,  // ready once it runs
    notify, // by sd_notify: READY=1; HOLDFAST_PROGRESS=done/total and EXTEND_TIMEOUT_USEC= are progress
    health, // when the health method says so
};

// A request that any healthy helper answers. In an answer, "phase": "ready" (or no phase at all) means ready;
// any other phase means starting, and a change of "phase" or "progress" is progress.
struct HealthCheck {
    std::string method; // empty: no health checks
    std::string params = "{}";
    Millis every{10'000};       // once it is ready
    Millis while_starting{100}; // between two questions during the start
    Millis within{5'000};       // an answer that takes longer is a miss
    // So many in a row, with no message of any kind in between, mean wedged: it is replaced. While a request
    // of the helper is being served here nothing is a miss, for it may wait for the answer.
    std::uint32_t misses = 3;
};

struct RespawnPolicy {
    Millis first{0};     // before the first replacement
    Millis initial{100}; // before the second; then times `factor`, at most `max`
    double factor = 2.0;
    Millis max{30'000};
    double jitter = 0.2;             // a fraction of each wait
    Millis reset_after_held{10'000}; // readiness that held this long ends a row of failures
    std::uint32_t max_failures = 8;  // in a row, or within `window`: then it gives up; 0: never
    Millis window{120'000};
    Millis cool_down{60'000}; // after giving up, a new hold may try again then; 0: only retry()
};

struct RpcLimits {
    std::size_t max_message = std::size_t{16} << 20; // of the helper; a longer one is skipped
    std::size_t max_in_flight =
        262'144; // calls; a hold may have as many as are still free, alone half of them
    std::size_t max_unsent_bytes = std::size_t{128} << 20;
    std::size_t max_waiting = 65'536; // requests that wait for a helper to become ready
    std::size_t max_requests = 1024;  // of the helper, being served
    // That wait for slow subscribers of one hold; more are dropped and counted.
    std::size_t max_notifications = 65'536;
};

enum class HelperErrors {
    inherit,
    discard,
    log
}; // its stderr: the host's, nowhere, or a bounded file in the state folder

// The host's environment is copied by hold(), on the calling thread, where the hold starts the helper; its
// replacements have the same. After that the host may change its environment as it likes.
struct HelperSpec {
    // The key: two specs that are equal in these name the same helper.
    std::vector<std::string> command;                    // the first is looked up in PATH when it has no '/'
    std::string directory;                               // working directory; empty: the host's
    std::optional<std::vector<std::string>> environment; // "NAME=value", all of it; none: the host's
    std::vector<std::string> extra_environment;          // laid over that
    RpcFraming framing = RpcFraming::newline;
    RpcCancel cancel = RpcCancel::silent;
    std::string key; // anything that is to keep equal commands apart

    // How it is treated. The spec of the hold that starts it counts.
    std::string label; // for `holdfast ps`; empty: the command's name
    ReadyBy ready_by = ReadyBy::start;
    HealthCheck health;
    Millis stall{30'000};          // longest standstill of a start; 0: endless patience. A start that waits
                                   // for our answer to its request does not stand still
    Millis linger{0};              // how long it outlives its last hold
    std::string stop_plan = "mcp"; // as for `holdfast run --stop`
    std::string containment = "auto"; // as for `holdfast run --contain`
    HelperErrors errors = HelperErrors::inherit;
    Millis serve_within{60'000}; // a request of the helper gets an error after this
    RespawnPolicy respawn;
    RpcLimits limits;
};

enum class HelperState { idle, starting, ready, restarting, stopping, failed, closed };
std::string_view name_of(HelperState state) noexcept;

struct HelperStatus {
    HelperState state = HelperState::idle;
    Generation generation = 0;
    std::uint32_t holds = 0;
    int pid = 0;               // of the helper; 0 when none runs
    std::size_t in_flight = 0; // requests sent and not answered
    std::size_t waiting = 0;   // requests that wait for it to become ready
    std::string progress;      // of its start, as it said it last: "12/100", or its health method's value
    std::string failure;       // the latest, for a person; empty when there was none
    std::uint64_t noise = 0;   // pieces of output that were no messages
    std::uint64_t dropped_notifications = 0;
    std::uint64_t starts = 0;
};

// An error that the helper itself answered.
struct RemoteError {
    int code = 0;
    std::string message;
    std::string data; // raw JSON; empty when there was none
};

struct Reply {
    std::string json; // the result, raw; empty when it is an error
    std::optional<RemoteError> error;
    Generation generation = 0; // that answered
    [[nodiscard]] bool ok() const noexcept { return !error; }
};

struct RequestOptions {
    std::optional<Millis> timeout =
        Millis{30'000}; // for everything: waiting for the helper, sending, answering
    bool idempotent =
        false; // may be sent again, to the next generation, when the transport closes before the answer
    // Not 0: only to this generation. It is waited for while it starts; `superseded` when it is gone.
    Generation only = 0;
    // For start() with a callback that does nothing but pass the answer on (to an event loop) and never
    // waits: it is called by a thread on which no other code of the host runs.
    bool passed_on = false;
};

using Answered = std::function<void(Result<Reply>)>;
using Notified = std::function<void(std::string_view method, std::string_view params)>;

// A request that the helper made. Answer it once, from any thread, now or later; dropping it unanswered
// answers with an error. When the hold that serves it goes, a survivor is asked instead, and reply() returns
// not_found.
class IncomingRequest {
public:
    explicit IncomingRequest(std::unique_ptr<supervise::IncomingState> state) noexcept;
    IncomingRequest(IncomingRequest&&) noexcept;
    IncomingRequest& operator=(IncomingRequest&&) noexcept;
    IncomingRequest(const IncomingRequest&) = delete;
    IncomingRequest& operator=(const IncomingRequest&) = delete;
    ~IncomingRequest();

    [[nodiscard]] std::string_view method() const noexcept;
    [[nodiscard]] std::string_view params() const noexcept; // raw JSON; empty when there are none
    Result<void> reply(std::string_view result_json);
    Result<void> reply_error(int code, std::string_view message, std::string_view data_json = {});

private:
    std::unique_ptr<supervise::IncomingState> state_;
};
using Served = std::function<void(IncomingRequest)>;

// A subscription or a served method. Dropping it ends it; so does the release of its hold. The callback may
// still be running when this returns; it is destroyed when it no longer is.
class Registration {
public:
    Registration() noexcept;
    explicit Registration(std::unique_ptr<supervise::RegistrationState> state) noexcept;
    Registration(Registration&&) noexcept;
    Registration& operator=(Registration&&) noexcept;
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration();
    void cancel() noexcept;
    void detach() noexcept; // lives as long as its hold

private:
    std::unique_ptr<supervise::RegistrationState> state_;
};

// A request under way. Dropping the handle does not cancel it.
class PendingCall {
public:
    PendingCall() noexcept;
    explicit PendingCall(std::shared_ptr<supervise::CallState> state) noexcept;
    PendingCall(PendingCall&&) noexcept;
    PendingCall& operator=(PendingCall&&) noexcept;
    PendingCall(const PendingCall&) noexcept;
    PendingCall& operator=(const PendingCall&) noexcept;
    ~PendingCall();

    // The answer, or `timed_out` when it is not there after `at_most` (the call goes on). Once.
    Result<Reply> wait(std::optional<Millis> at_most = {});
    [[nodiscard]] bool done() const noexcept;
    // Waits until it is done, and takes nothing. False when it is not after `at_most`. True
    // at once in the child of a fork, where nothing comes of it: wait() says `closed`.
    bool wait_done(std::optional<Millis> at_most = {});
    // It ends as `cancelled`, unless it has ended already; the helper is told in its dialect.
    void cancel() noexcept;

private:
    std::shared_ptr<supervise::CallState> state_;
};

class Session;
// What a session does first on each new generation: open itself there. It runs on the thread of the request
// that needs it; requests made through `on` go to that generation only, from whichever thread, until it
// returns. The session itself may be asked by the opening's own thread too; on another thread that would wait
// for the opening to end. An error is the request's error, unless it is `closed` or `superseded` because that
// generation was lost meanwhile: then it is opened on the next. What it throws comes out of the request, and
// the next request opens again.
using SessionOpen = std::function<Result<void>(Session& on)>;

// Proof that the helper is wanted. Move-only.
class Hold {
public:
    explicit Hold(std::shared_ptr<supervise::Conversation> helper, std::uint64_t tag) noexcept;
    Hold(Hold&&) noexcept;
    Hold& operator=(Hold&&) noexcept;
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold(); // release()

    // Waits until the helper is ready, and says which generation is. Errors: timed_out, gave_up, closed.
    Result<Generation> wait_ready(std::optional<Millis> at_most = Millis{30'000});

    // `params_json` is an object, a list, or empty. An error answer of the helper is a Reply with `error`.
    // Errors: invalid_argument, overflow, timed_out, cancelled, closed (transport, hold or supervisor),
    // gave_up, superseded, protocol.
    Result<Reply> request(std::string_view method, std::string_view params_json = {},
                          const RequestOptions& options = {});
    // The same without waiting: for the handle's wait(), and for `answered` (which may be empty).
    Result<PendingCall> start(std::string_view method, std::string_view params_json,
                              const RequestOptions& options, Answered answered = {});
    // Between the two: waits at most so long, and gives the handle. For hosts that look after something else
    // now and then. Quicker than start() and wait().
    Result<PendingCall> start_and_wait(std::string_view method, std::string_view params_json,
                                       const RequestOptions& options, std::optional<Millis> at_most);
    // To the present generation; `closed` when none is ready.
    Result<void> notify(std::string_view method, std::string_view params_json = {});

    // Notifications of one method, or of all with "*". They survive a respawn.
    Result<Registration> subscribe(std::string_view method, Notified notified);
    // Requests of the helper: the newest hold that serves a method (or "*") is asked.
    Result<Registration> serve(std::string_view method, Served served);

    // Sees to it that another generation than `seen` is there, and waits for it: replaces `seen` if it is
    // still the present one (also one that is still being started), joins its successor otherwise, and goes
    // on when that one is dead too.
    Result<Generation> replace(Generation seen, std::optional<Millis> at_most = Millis{30'000});
    // After giving up, or during a pause: try again now.
    Result<void> retry();

    Session session(SessionOpen open);
    [[nodiscard]] HelperStatus status() const;
    // Lets go. Requests that were sent are answered or failed; everything else on this hold is `closed` from
    // now on, and whoever waits on it is told so. A second time does nothing.
    void release() noexcept;

private:
    Result<std::shared_ptr<supervise::CallState>>
    make_call(std::string_view method, std::string_view params_json, const RequestOptions& options);
    std::shared_ptr<supervise::Conversation> helper_;
    std::uint64_t tag_ = 0;
};

// Requests that belong together and need to be opened on the helper first. It does not keep the helper alive:
// when its hold is released, it is `closed`.
class Session {
public:
    explicit Session(std::shared_ptr<supervise::SessionState> state) noexcept;
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();

    // As Hold::request, after the session was opened on the generation it goes to.
    Result<Reply> request(std::string_view method, std::string_view params_json = {},
                          const RequestOptions& options = {});
    // The generation it is open on; 0 when it is not.
    [[nodiscard]] Generation open_on() const noexcept;

private:
    std::shared_ptr<supervise::SessionState> state_;
};

struct SupervisorOptions {
    std::string profile;        // whose registry; empty: $HOLDFAST_PROFILE, or "default"
    std::string keeper_program; // holdfast-keep; empty: found beside the library, or in PATH
};

class Supervisor {
public:
    static Result<Supervisor> create(const SupervisorOptions& options = {});
    explicit Supervisor(std::shared_ptr<supervise::Core> core) noexcept;
    Supervisor(Supervisor&&) noexcept;
    Supervisor& operator=(Supervisor&&) noexcept;
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;
    ~Supervisor(); // shutdown(), and a second for callbacks that run

    // Returns at once: the start goes on by itself. Errors: invalid_argument, closed.
    Result<Hold> hold(const HelperSpec& spec);

    // Ends all helpers by their stop plans and returns when nothing is left. Holds are `closed` from now on.
    // A keeper that somebody has stopped is continued, and one that does not go on is killed: the time is
    // bounded by the plans and 25 s. Errors: timed_out (it goes on; the message names what is there yet),
    // survivors (processes that could not be ended; the message names them).
    Result<void> shutdown(std::optional<Millis> at_most = {});

    // All helpers that are held, run, or are remembered for having failed, by their keys.
    [[nodiscard]] std::vector<std::pair<std::string, HelperStatus>> status() const;

private:
    std::shared_ptr<supervise::Core> core_;
};

} // namespace holdfast
