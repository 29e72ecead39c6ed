// One end of a JSON-RPC conversation with one generation of a helper: bytes in, answers and requests out;
// calls in, bytes out. No I/O, no clock and no thread: whoever drives it reads and writes, passes the time
// in, and guards it with one lock.
//
// What it promises:
//  - Each accepted call is answered exactly once: by the helper, by its deadline, by cancel(), or by
//  fail_all().
//  - Nothing the helper writes harms it. What is not a message is reported as noise and forgotten.
//  - Memory is bounded (PeerLimits); at a bound the caller gets `overflow`, the helper an error, and nobody
//  waits.
//  - Requests of the helper go to the newest hold that serves the method. When it goes, a survivor is asked
//  the same
//    request; when there is none, the helper gets a clean error.
//  - It always takes input, whatever waits to be written: two sides that both wait for the other to read
//    cannot happen from here.
#pragma once

#include "rpc/deadlines.hpp"
#include "rpc/framing.hpp"
#include "rpc/lanes.hpp"
#include "rpc/message.hpp"
#include "rpc/registrations.hpp"

#include "base/moment.hpp"
#include "holdfast/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::rpc {

using CallId = std::uint64_t;
using RequestId = std::uint64_t; // of a request that the helper made

struct PeerLimits {
    std::size_t max_message = default_max_message; // incoming; longer ones are skipped
    // A hold may have as many calls in flight, and as many bytes unsent, as are still free: alone it gets
    // half of everything, and a newcomer always finds room.
    std::size_t max_in_flight = 262'144;
    std::size_t max_unsent_bytes = std::size_t{128} << 20;
    std::size_t max_requests = 1024;                       // of the helper, being served at a time
    std::size_t max_unsent_answers = std::size_t{8} << 20; // bytes of answers that the helper does not read
};

struct PeerOptions {
    Framing framing = Framing::newline;
    CancelStyle cancel = CancelStyle::silent;
    std::chrono::milliseconds serve_within{
        60'000}; // a request of the helper gets an error after this; 0: never
    PeerLimits limits;
    // The other side may quote bytes that are not UTF-8 (a path). Otherwise such a message is noise.
    bool any_bytes = false;
};

// How a call ended. The views are valid during on_answer only.
struct Answer {
    enum class Kind : std::uint8_t {
        result, // json: the result, raw
        error,  // json: the helper's error object, raw; read_error() takes it apart
        failed, // no answer: see `failure`
    };
    Kind kind{};
    std::string_view json;
    Error failure{};
    bool never_sent = false; // failed: the helper cannot have seen the whole of it
};

// What came out of the bytes. Called from within the Peer's functions; it may call the Peer again, except
// receive(), finish(), expire() and fail_all().
class PeerEvents {
public:
    PeerEvents() = default;
    PeerEvents(const PeerEvents&) = delete;
    PeerEvents& operator=(const PeerEvents&) = delete;
    virtual ~PeerEvents() = default;

    virtual void on_answer(CallId call, std::uint64_t token, const Answer& answer) = 0;
    virtual void on_notification(RegistrationId listener, HoldTag hold, std::string_view method,
                                 std::string_view params) = 0;
    virtual void on_request(RegistrationId server, HoldTag hold, RequestId request, std::string_view method,
                            std::string_view params) = 0;
    // Its answer is no longer wanted: the helper cancelled it, or its time is over. Somebody else may be
    // asked.
    virtual void on_request_gone(HoldTag hold, RequestId request) = 0;
    virtual void on_noise(std::string_view why, std::string_view excerpt) = 0;
    // An error whose id is null: about a message of ours that the other side could not read.
    virtual void on_unaddressed_error(std::string_view /*error*/) {}
};

struct PeerCounters {
    std::uint64_t messages = 0; // of any kind, noise not included
    std::uint64_t noise = 0;
    std::uint64_t oversize = 0;
    std::uint64_t late_answers = 0;    // to calls that were over already, or never made
    std::uint64_t unheard = 0;         // notifications that nobody subscribed to
    std::uint64_t refused = 0;         // requests of the helper that got an error from here
    std::uint64_t dropped_answers = 0; // not even an error could be queued: the helper does not read
};

class Peer {
public:
    // `registrations` and `events` outlive it. `generation` is for the words of errors.
    Peer(PeerOptions options, std::uint64_t generation, Registrations& registrations, PeerEvents& events);

    // `params` is raw JSON (an object, a list, or empty). `token` comes back in on_answer, never before this
    // returns. Fails with invalid_argument, overflow or closed; then there is no on_answer.
    Result<CallId> call(HoldTag hold, std::string_view method, std::string_view params, base::Moment deadline,
                        std::uint64_t token);
    Result<void> notify(HoldTag hold, std::string_view method, std::string_view params);
    // The call ends as `cancelled`, now. False when it is over already.
    bool cancel(CallId call);

    // `result` is raw JSON. Fails with not_found when the request is no longer this hold's to answer, and
    // with overflow when the helper reads nothing.
    Result<void> reply(HoldTag hold, RequestId request, std::string_view result);
    Result<void> reply_error(HoldTag hold, RequestId request, int code, std::string_view message,
                             std::string_view data = {});

    // Registrations went: requests that they were serving go to others. To be called after any removal.
    void registrations_changed(base::Moment now);

    void receive(std::string_view bytes, base::Moment now);
    // The helper has closed its output: an unfinished last line counts. fail_all() is the caller's next word.
    void finish(base::Moment now);

    // Params as they may be written: an object, a list, or nothing (blanks are nothing). Error
    // invalid_argument.
    static Result<std::string_view> checked_params(std::string_view params);

    // Ends what is overdue.
    void expire(base::Moment now);
    [[nodiscard]] base::Moment next_deadline();

    // What is to be written now, in one piece; empty when nothing is. Valid until anything else is called.
    [[nodiscard]] std::string_view output();
    void consume(std::size_t written);
    [[nodiscard]] bool has_output() const noexcept;

    // No new calls and notifications (`closed`); what was accepted goes on.
    void stop_accepting() noexcept { accepting_ = false; }
    // Every call in flight ends with "transport closed, generation n" and `why`; nothing is written any more.
    void fail_all(std::string_view why);

    [[nodiscard]] std::size_t in_flight() const noexcept { return calls_.size(); }
    // Requests of the helper that it has no answer to yet.
    [[nodiscard]] std::size_t serving() const noexcept { return requests_.size(); }
    [[nodiscard]] std::size_t unsent_bytes() const noexcept;
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    [[nodiscard]] const PeerCounters& counters() const noexcept { return counters_; }

private:
    struct Call {
        std::uint64_t token = 0;
        HoldTag hold = 0;
        std::optional<Lanes::Handle> unsent; // while its frame waits in a lane
        std::uint64_t end = 0;               // after that: where in the stream of bytes its frame ends
    };
    struct Request {
        std::string raw_id;
        std::string method;
        std::string params;
        Registrations::Subscriber server;
    };

    Result<void> admit_call(HoldTag hold) const;
    Result<void> admit_bytes(HoldTag hold, std::size_t frame_bytes) const;
    std::optional<Lanes::Handle> send(HoldTag hold, CallId call, std::string frame);
    std::string framed(std::string_view message) const;

    void on_frame(const Frame& frame, base::Moment now);
    void on_message(std::string_view text, base::Moment now);
    void on_request_message(const Message& message, base::Moment now);
    void on_notification_message(const Message& message);
    bool on_cancellation(std::string_view method, const Message& message);
    void on_answer_message(const Message& message);
    void on_too_deep(const Message& message, std::string_view text);
    void on_oversize(std::string_view head);
    void note_noise(std::string_view why, std::string_view text);

    void end_call(CallId call, const Answer& answer);
    void fail_call(CallId call, Errc code, std::string message);
    [[nodiscard]] bool is_sent(const Call& call) const noexcept {
        return !call.unsent && call.end <= written_;
    }
    void tell_cancelled(CallId call);

    std::unordered_map<RequestId, Request>::iterator owned_request(HoldTag hold, RequestId request);
    void end_request(RequestId request);
    void refuse(std::string_view raw_id, int code, std::string_view message);
    bool send_answer(std::string_view message);

    PeerOptions options_;
    std::uint64_t generation_;
    Registrations& registrations_;
    PeerEvents& events_;
    FrameReader reader_;
    bool accepting_ = true;
    bool closed_ = false;

    std::unordered_map<CallId, Call> calls_;
    std::unordered_map<HoldTag, std::size_t> calls_of_; // how many of calls_ each hold has
    Deadlines call_deadlines_;
    CallId last_call_ = 0;

    std::unordered_map<RequestId, Request> requests_;
    Deadlines request_deadlines_;
    RequestId last_request_ = 0;

    std::string out_; // what is being written
    std::size_t out_written_ = 0;
    std::uint64_t written_ = 0; // bytes of the whole stream that were taken
    std::string answers_;       // frames of ours that go before the lanes: answers, cancellations
    Lanes lanes_;
    PeerCounters counters_;
};

} // namespace holdfast::rpc
