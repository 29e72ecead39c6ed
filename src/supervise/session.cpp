// Sessions: opened on each generation before their first request there.
#include "base/text.hpp"
#include "supervise/conversation.hpp"
#include "supervise/session_state.hpp"

#include <utility>

namespace holdfast {

namespace supervise {

namespace {
// Set while this thread runs the opening of a session: what it asks of the session itself must not wait for
// it to be open.
thread_local const SessionState* opening_here = nullptr;

// Also when the opening leaves by an exception: that is the host's code.
class OpeningHere {
public:
    explicit OpeningHere(const SessionState* session) noexcept
        : outer_(std::exchange(opening_here, session)) {}
    OpeningHere(const OpeningHere&) = delete;
    OpeningHere& operator=(const OpeningHere&) = delete;
    ~OpeningHere() { opening_here = outer_; }

private:
    const SessionState* const outer_;
};
} // namespace

// From when an opening begins until it is over, however it ends: who waits for it goes on then.
class SessionState::UnderWay {
public:
    UnderWay(SessionState& session, std::unique_lock<std::mutex>& lock, const Opening& opening)
        : session_(session)
        , lock_(lock) {
        session_.opening_ = true;
        session_.opening_now_ = opening;
        lock_.unlock();
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    ~UnderWay() {
        lock_.lock();
        session_.opening_ = false;
        if (succeeded_)
            session_.open_on_ = session_.opening_now_.generation;
        session_.changed_.notify_all();
    }
    void succeeded() noexcept { succeeded_ = true; }

private:
    SessionState& session_;
    std::unique_lock<std::mutex>& lock_;
    bool succeeded_ = false;
};

// Sends one request to `generation` only, and waits.
Result<Reply> SessionState::send(std::string_view method, std::string_view params,
                                 const RequestOptions& options, Generation generation, base::Moment due) {
    const auto strong = helper_.lock();
    if (!strong || strong->is_fork())
        return fail(Errc::closed, "the hold of this session was released");
    auto call = std::make_shared<CallState>();
    call->hold = hold_;
    call->method = method;
    call->params = params;
    call->deadline = due;
    call->idempotent = options.idempotent;
    call->only = generation;
    call->helper = strong;
    strong->submit_and_await(call, base::never); // the deadline is the call's own
    return call->take();
}

Result<void> SessionState::run_opening(const Opening& opening) {
    if (!open_)
        return {};
    auto given = std::make_shared<SessionState>(helper_, hold_, SessionOpen{});
    given->opening_of_ = opening;
    Session inside(std::move(given));
    const OpeningHere here(this);
    return open_(inside);
}

// Opens it on `generation`, once; who comes meanwhile waits for the outcome.
Result<void> SessionState::ensure_open(Generation generation, base::Moment due) {
    std::unique_lock lock(mutex_);
    while (opening_ && open_on_ != generation) {
        if (due == base::never)
            changed_.wait(lock);
        else if (changed_.wait_for(lock, due - now_moment()) == std::cv_status::timeout &&
                 now_moment() >= due)
            return fail(Errc::timed_out, "the session was not opened within the deadline");
    }
    if (open_on_ == generation)
        return {};
    UnderWay opening(*this, lock, {generation, due});
    Result<void> opened = run_opening({generation, due});
    if (opened)
        opening.succeeded();
    return opened;
}

Generation SessionState::open_on() const {
    if (opening_of_)
        return 0;
    const std::scoped_lock lock(mutex_);
    return open_on_;
}

Result<Reply> SessionState::request(std::string_view method, std::string_view params,
                                    const RequestOptions& options) {
    base::Moment due = options.timeout ? base::after(now_moment(), *options.timeout) : base::never;
    if (opening_of_)
        return send(method, params, options, opening_of_->generation, std::min(due, opening_of_->due));
    if (opening_here == this) // this thread wrote it, and nobody does until its opening is over
        return send(method, params, options, opening_now_.generation, std::min(due, opening_now_.due));
    for (;;) {
        const auto strong = helper_.lock();
        if (!strong || strong->is_fork())
            return fail(Errc::closed, "the hold of this session was released");
        auto generation = strong->process().wait_ready(hold_, 0, due);
        if (!generation)
            return std::unexpected(generation.error());
        const bool current = options.only == 0 || options.only == *generation;
        if (!current)
            return fail(Errc::superseded, base::cat("generation ", options.only, " is no longer there"));
        auto opened = ensure_open(*generation, due);
        // It died while the session was being opened: its successor is next. An opening may also say such a
        // word of something else, and would say it again for ever.
        const bool gone = !opened &&
                          (opened.error().code == Errc::superseded || opened.error().code == Errc::closed) &&
                          !strong->process().reaches(*generation);
        if (gone && strong->process().holds(hold_) && now_moment() < due && options.only == 0)
            continue;
        if (!opened)
            return std::unexpected(opened.error());
        auto reply = send(method, params, options, *generation, due);
        // Superseded: not sent, because another generation came in between. Closed: sent, and lost.
        const bool again = !reply && options.only == 0 && now_moment() < due &&
                           strong->process().holds(hold_) &&
                           (reply.error().code == Errc::superseded ||
                            (reply.error().code == Errc::closed && options.idempotent));
        if (!again)
            return reply;
    }
}

} // namespace supervise

Session::Session(std::shared_ptr<supervise::SessionState> state) noexcept
    : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Reply> Session::request(std::string_view method, std::string_view params_json,
                               const RequestOptions& options) {
    if (!state_)
        return fail(Errc::closed, "this session was moved away");
    return state_->request(method, params_json, options);
}

Generation Session::open_on() const noexcept {
    return state_ ? state_->open_on() : 0;
}

Session Hold::session(SessionOpen open) {
    return Session(std::make_shared<supervise::SessionState>(helper_, tag_, std::move(open)));
}

} // namespace holdfast
