// Sessions: opened on each generation before their first request there.
#include "core/text.hpp"
#include "supervise/helper.hpp"
#include "supervise/session_state.hpp"

#include <utility>

namespace holdfast {

namespace supervise {

namespace {
// Set while this thread runs the opening of a session: its own requests must not wait for it to be open.
thread_local const SessionState* opening_here = nullptr;
} // namespace

// Sends one request to `generation` only, and waits.
Result<Reply> SessionState::send(std::string_view method, std::string_view params,
                                 const RequestOptions& options, Generation generation, core::Moment due) {
    const auto strong = helper.lock();
    if (!strong || strong->is_fork())
        return fail(Errc::closed, "the hold of this session was released");
    auto call = std::make_shared<CallState>();
    call->hold = hold;
    call->method = method;
    call->params = params;
    call->deadline = due;
    call->idempotent = options.idempotent;
    call->only = generation;
    call->helper = strong;
    strong->submit_and_await(call, core::never); // the deadline is the call's own
    return call->take();
}

// Opens it on `generation`, once; who comes meanwhile waits for the outcome.
Result<void> SessionState::ensure_open(Generation generation, core::Moment due) {
    std::unique_lock lock(mutex);
    while (opening && open_on != generation) {
        if (due == core::never)
            changed.wait(lock);
        else if (changed.wait_for(lock, due - now_moment()) == std::cv_status::timeout && now_moment() >= due)
            return fail(Errc::timed_out, "the session was not opened within the deadline");
    }
    if (open_on == generation)
        return {};
    opening = true;
    opening_on = generation;
    opening_due = due;
    lock.unlock();
    Session inside(shared_from_this());
    const SessionState* const outer = std::exchange(opening_here, this);
    Result<void> opened = open ? open(inside) : Result<void>{};
    opening_here = outer;
    lock.lock();
    opening = false;
    if (opened)
        open_on = generation;
    changed.notify_all();
    return opened;
}

Result<Reply> SessionState::request(std::string_view method, std::string_view params,
                                    const RequestOptions& options) {
    core::Moment due = options.timeout ? core::after(now_moment(), *options.timeout) : core::never;
    if (opening_here == this)
        return send(method, params, options, opening_on, std::min(due, opening_due));
    for (;;) {
        const auto strong = helper.lock();
        if (!strong || strong->is_fork())
            return fail(Errc::closed, "the hold of this session was released");
        auto generation = strong->wait_ready(hold, 0, due);
        if (!generation)
            return std::unexpected(generation.error());
        const bool current = options.only == 0 || options.only == *generation;
        if (!current)
            return fail(Errc::superseded, core::cat("generation ", options.only, " is no longer there"));
        auto opened = ensure_open(*generation, due);
        const bool gone =
            !opened && (opened.error().code == Errc::superseded || opened.error().code == Errc::closed);
        if (gone && strong->holds(hold) && now_moment() < due && options.only == 0)
            continue; // it died while the session was being opened; its successor is next
        if (!opened)
            return std::unexpected(opened.error());
        auto reply = send(method, params, options, *generation, due);
        // Superseded: not sent, because another generation came in between. Closed: sent, and lost.
        const bool again = !reply && options.only == 0 && now_moment() < due && strong->holds(hold) &&
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
    if (!state_)
        return 0;
    const std::scoped_lock lock(state_->mutex);
    return state_->open_on;
}

Session Hold::session(SessionOpen open) {
    auto state = std::make_shared<supervise::SessionState>();
    state->helper = helper_;
    state->hold = tag_;
    state->open = std::move(open);
    return Session(std::move(state));
}

} // namespace holdfast
