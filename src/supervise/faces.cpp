// The public classes: thin, move-only, and inert in the child of a fork.
#include "supervise/core.hpp"
#include "supervise/incoming.hpp"
#include "sys/fork_shield.hpp"

#include <utility>

namespace holdfast {

namespace {

using supervise::now_moment;

base::Moment due_in(std::optional<Millis> span) {
    return span ? base::after(now_moment(), std::max(*span, Millis{0})) : base::never;
}

std::unexpected<Error> forked() {
    return fail(Errc::closed, "this is a fork of the process that holds it; the child has no holds");
}

std::unexpected<Error> moved_away() {
    return fail(Errc::closed, "this hold was moved away");
}

bool in_fork(const supervise::Conversation& helper) {
    return helper.is_fork();
}

// In the child of a fork nothing may be destroyed: threads that are not there may hold its locks, and
// descriptor numbers may mean something else by now. The memory is the child's copy, and goes with it.
template <class T>
void leave_in_fork(T& owner) noexcept {
    static_cast<void>(new T(std::move(owner)));
}

// Released, or dropped: in a fork neither means anything.
void let_go(const std::shared_ptr<supervise::Conversation>& helper, std::uint64_t tag) noexcept {
    if (helper && !in_fork(*helper))
        helper->release(tag);
}

} // namespace

std::string_view name_of(HelperState state) noexcept {
    switch (state) {
    case HelperState::idle:
        return "idle";
    case HelperState::starting:
        return "starting";
    case HelperState::ready:
        return "ready";
    case HelperState::restarting:
        return "restarting";
    case HelperState::stopping:
        return "stopping";
    case HelperState::failed:
        return "failed";
    case HelperState::closed:
        return "closed";
    }
    return "idle";
}

IncomingRequest::IncomingRequest(std::unique_ptr<supervise::IncomingState> state) noexcept
    : state_(std::move(state)) {}
IncomingRequest::IncomingRequest(IncomingRequest&&) noexcept = default;
IncomingRequest& IncomingRequest::operator=(IncomingRequest&& other) noexcept {
    if (this != &other) {
        const IncomingRequest dropped(std::move(state_));
        state_ = std::move(other.state_);
    }
    return *this;
}

IncomingRequest::~IncomingRequest() {
    if (state_ && !state_->over)
        static_cast<void>(reply_error(rpc::internal_error, "who serves this did not answer it"));
}

std::string_view IncomingRequest::method() const noexcept {
    return state_ ? std::string_view(state_->method) : "";
}
std::string_view IncomingRequest::params() const noexcept {
    return state_ ? std::string_view(state_->params) : "";
}

namespace {

// `send` answers it through the helper. The state stays: another thread may be looking at it.
template <class Send>
Result<void> answer(supervise::IncomingState* state, Send send) {
    if (state == nullptr || state->over)
        return fail(Errc::closed, "this request was answered already");
    const auto helper = state->helper.lock();
    if (!helper || in_fork(*helper))
        return fail(Errc::closed, "the helper that asked is gone");
    Result<void> sent = send(*helper);
    // What is not JSON was not sent: the handler may try again.
    if (sent || sent.error().code != Errc::invalid_argument)
        state->over = true;
    return sent;
}

} // namespace

Result<void> IncomingRequest::reply(std::string_view result_json) {
    return answer(state_.get(), [&](supervise::Conversation& helper) {
        return helper.reply(state_->generation, state_->hold, state_->request, result_json);
    });
}

Result<void> IncomingRequest::reply_error(int code, std::string_view message, std::string_view data_json) {
    return answer(state_.get(), [&](supervise::Conversation& helper) {
        return helper.reply_error(state_->generation, state_->hold, state_->request, code, message,
                                  data_json);
    });
}

Registration::Registration() noexcept = default;
Registration::Registration(std::unique_ptr<supervise::RegistrationState> state) noexcept
    : state_(std::move(state)) {}
Registration::Registration(Registration&&) noexcept = default;
Registration& Registration::operator=(Registration&& other) noexcept {
    if (this != &other) {
        cancel();
        state_ = std::move(other.state_);
    }
    return *this;
}
Registration::~Registration() {
    cancel();
}

void Registration::cancel() noexcept {
    if (!state_)
        return;
    const rpc::RegistrationId id = state_->id.exchange(0);
    if (const auto helper = state_->helper.lock(); id != 0 && helper && !in_fork(*helper))
        helper->unregister(id);
}

void Registration::detach() noexcept {
    if (state_)
        state_->id = 0;
}

PendingCall::PendingCall() noexcept = default;
PendingCall::PendingCall(std::shared_ptr<supervise::CallState> state) noexcept
    : state_(std::move(state)) {}
PendingCall::PendingCall(PendingCall&&) noexcept = default;
PendingCall& PendingCall::operator=(PendingCall&&) noexcept = default;
PendingCall::PendingCall(const PendingCall&) noexcept = default;
PendingCall& PendingCall::operator=(const PendingCall&) noexcept = default;
PendingCall::~PendingCall() = default;

Result<Reply> PendingCall::wait(std::optional<Millis> at_most) {
    if (!state_)
        return fail(Errc::closed, "there is no call to wait for");
    if (const auto helper = state_->helper.lock(); helper && in_fork(*helper))
        return forked();
    if (!wait_done(at_most))
        return fail(Errc::timed_out, "no answer yet; the call goes on");
    return state_->take();
}

bool PendingCall::wait_done(std::optional<Millis> at_most) {
    if (!state_ || state_->done())
        return true;
    const base::Moment due = due_in(at_most);
    const auto helper = state_->helper.lock();
    if (helper && in_fork(*helper))
        return true; // nothing will come of it here; wait() says so
    return helper ? helper->await(*state_, due) : state_->wait_until(due);
}

bool PendingCall::done() const noexcept {
    return !state_ || state_->done();
}

void PendingCall::cancel() noexcept {
    if (!state_)
        return;
    if (const auto helper = state_->helper.lock(); helper && !in_fork(*helper))
        helper->cancel(state_);
}

Hold::Hold(std::shared_ptr<supervise::Conversation> helper, std::uint64_t tag) noexcept
    : helper_(std::move(helper))
    , tag_(tag) {}
Hold::Hold(Hold&&) noexcept = default;
Hold& Hold::operator=(Hold&& other) noexcept {
    if (this != &other) {
        const Hold dropped(std::move(helper_), tag_);
        helper_ = std::move(other.helper_);
        tag_ = other.tag_;
    }
    return *this;
}
Hold::~Hold() {
    if (helper_ && in_fork(*helper_))
        leave_in_fork(helper_);
    else
        let_go(helper_, tag_);
}

// What it points to stays until it is destroyed: another thread may be using it. The helper knows which holds
// were released, and says `closed`.
void Hold::release() noexcept {
    let_go(helper_, tag_);
}

Result<Generation> Hold::wait_ready(std::optional<Millis> at_most) {
    if (!helper_)
        return moved_away();
    if (in_fork(*helper_))
        return forked();
    return helper_->process().wait_ready(tag_, 0, due_in(at_most));
}

Result<std::shared_ptr<supervise::CallState>>
Hold::make_call(std::string_view method, std::string_view params_json, const RequestOptions& options) {
    if (!helper_)
        return moved_away();
    if (in_fork(*helper_))
        return forked();
    auto call = std::make_shared<supervise::CallState>();
    call->hold = tag_;
    call->method = method;
    call->params = params_json;
    call->deadline = due_in(options.timeout);
    call->idempotent = options.idempotent;
    call->only = options.only;
    call->helper = helper_;
    return call;
}

Result<PendingCall> Hold::start(std::string_view method, std::string_view params_json,
                                const RequestOptions& options, Answered answered) {
    auto call = make_call(method, params_json, options);
    if (!call)
        return std::unexpected(call.error());
    (*call)->answered = std::move(answered);
    (*call)->passed_on = options.passed_on;
    helper_->submit(*call);
    return PendingCall(std::move(*call));
}

Result<PendingCall> Hold::start_and_wait(std::string_view method, std::string_view params_json,
                                         const RequestOptions& options, std::optional<Millis> at_most) {
    auto call = make_call(method, params_json, options);
    if (!call)
        return std::unexpected(call.error());
    helper_->submit_and_await(*call, due_in(at_most));
    return PendingCall(std::move(*call));
}

Result<Reply> Hold::request(std::string_view method, std::string_view params_json,
                            const RequestOptions& options) {
    auto call = make_call(method, params_json, options);
    if (!call)
        return std::unexpected(call.error());
    helper_->submit_and_await(*call, base::never); // the deadline is the call's own
    return (*call)->take();
}

Result<void> Hold::notify(std::string_view method, std::string_view params_json) {
    if (!helper_)
        return moved_away();
    if (in_fork(*helper_))
        return forked();
    return helper_->notify(tag_, method, params_json);
}

Result<Registration> Hold::subscribe(std::string_view method, Notified notified) {
    if (!helper_)
        return moved_away();
    if (in_fork(*helper_))
        return forked();
    if (!notified)
        return fail(Errc::invalid_argument, "a subscription needs a callback");
    auto id = helper_->subscribe(tag_, method, std::move(notified));
    if (!id)
        return std::unexpected(id.error());
    return Registration(std::make_unique<supervise::RegistrationState>(helper_, *id));
}

Result<Registration> Hold::serve(std::string_view method, Served served) {
    if (!helper_)
        return moved_away();
    if (in_fork(*helper_))
        return forked();
    if (!served)
        return fail(Errc::invalid_argument, "a served method needs a callback");
    auto id = helper_->serve(tag_, method, std::move(served));
    if (!id)
        return std::unexpected(id.error());
    return Registration(std::make_unique<supervise::RegistrationState>(helper_, *id));
}

Result<Generation> Hold::replace(Generation seen, std::optional<Millis> at_most) {
    if (!helper_)
        return moved_away();
    if (in_fork(*helper_))
        return forked();
    return helper_->process().replace(tag_, seen, due_in(at_most));
}

Result<void> Hold::retry() {
    if (!helper_)
        return moved_away();
    if (in_fork(*helper_))
        return forked();
    return helper_->process().retry(tag_);
}

HelperStatus Hold::status() const {
    if (!helper_ || in_fork(*helper_)) {
        HelperStatus none;
        none.state = HelperState::closed;
        return none;
    }
    return helper_->status(tag_);
}

Result<Supervisor> Supervisor::create(const SupervisorOptions& options) {
    auto core = supervise::Core::create(options);
    if (!core)
        return std::unexpected(core.error());
    return Supervisor(std::move(*core));
}

Supervisor::Supervisor(std::shared_ptr<supervise::Core> core) noexcept
    : core_(std::move(core)) {}
Supervisor::Supervisor(Supervisor&&) noexcept = default;
Supervisor& Supervisor::operator=(Supervisor&& other) noexcept {
    if (this != &other) {
        const Supervisor dropped(std::move(core_));
        core_ = std::move(other.core_);
    }
    return *this;
}

Supervisor::~Supervisor() {
    if (!core_)
        return;
    if (core_->is_fork()) {
        leave_in_fork(core_);
        return;
    }
    static_cast<void>(core_->shutdown({}));
}

Result<Hold> Supervisor::hold(const HelperSpec& spec) {
    if (!core_)
        return fail(Errc::closed, "this supervisor was moved away");
    if (core_->is_fork())
        return forked();
    return core_->hold(spec);
}

Result<void> Supervisor::shutdown(std::optional<Millis> at_most) {
    if (!core_)
        return {};
    if (core_->is_fork())
        return forked();
    return core_->shutdown(at_most);
}

std::vector<std::pair<std::string, HelperStatus>> Supervisor::status() const {
    if (!core_ || core_->is_fork())
        return {};
    return core_->status();
}

} // namespace holdfast
