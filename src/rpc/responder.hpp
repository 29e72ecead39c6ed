// The answer to one request: given exactly once, by whoever holds the responder, from any thread.
#pragma once

#include "rpc/dialect.hpp"

#include "json/json.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast::rpc {

// A result or an error object; as a value, or as JSON text that is sent as it is.
struct Reply {
    bool failed = false;
    std::variant<json::value, std::string> body;

    [[nodiscard]] std::string text() const;
    [[nodiscard]] json::value value() &&;
};

// The line that carries it.
std::string write_reply(std::string_view raw_id, const Reply& reply);

// A request until it has its answer. Exactly one of its ends takes effect: the answer, the cancellation, the
// deadline.
class PendingRequest {
public:
    explicit PendingRequest(const Dialect& dialect)
        : dialect_(dialect) {}
    PendingRequest(const PendingRequest&) = delete;
    PendingRequest& operator=(const PendingRequest&) = delete;
    virtual ~PendingRequest() = default;

    // False: it was over already.
    bool answer(Reply reply);
    bool refuse(Complaint complaint);
    // No answer at all.
    bool withdraw();
    [[nodiscard]] bool over() const noexcept { return over_; }
    // Called once, as soon as the request ends in another way than by its responder; at once if it has. On
    // the thread that ends it.
    void on_abandoned(std::move_only_function<void()> tell);
    // Called once, when it is over in any way. To be set before anybody else knows the request.
    void on_over(std::move_only_function<void()> tell) { on_over_ = std::move(tell); }
    // Ends it from outside: `complaint` is answered, or nothing when it is null.
    void abandon(const Complaint* complaint);

protected:
    virtual void deliver(Reply reply) = 0;
    virtual void drop() {} // over without an answer

private:
    bool claim();

    const Dialect& dialect_;
    std::atomic<bool> over_ = false;
    std::move_only_function<void()> on_over_;
    std::mutex mutex_; // of what follows
    bool abandoned_ = false;
    std::move_only_function<void()> on_abandoned_;
};

// Move-only. Dropped without an answer it answers Fault::given_up: silence is the one wrong answer.
class Responder {
public:
    Responder() = default; // of nothing: answers go nowhere
    explicit Responder(std::shared_ptr<PendingRequest> request)
        : request_(std::move(request)) {}
    Responder(Responder&&) noexcept = default;
    Responder& operator=(Responder&& other) noexcept;
    Responder(const Responder&) = delete;
    Responder& operator=(const Responder&) = delete;
    ~Responder();

    // The first answer counts; what comes later, or after a cancellation, is dropped.
    void result(json::value value);
    void result_text(std::string text);
    void error(json::object error);
    void error_text(std::string text);
    // Answered, cancelled, or too late: nobody waits for it any more.
    [[nodiscard]] bool over() const noexcept { return !request_ || request_->over(); }
    // Told once when the client cancels the request or its deadline passes; at once when that has happened.
    void on_abandoned(std::move_only_function<void()> tell);

private:
    void give(Reply reply);
    std::shared_ptr<PendingRequest> request_;
};

// A notification: what its handler answers goes nowhere.
class SilentRequest final : public PendingRequest {
public:
    using PendingRequest::PendingRequest;

private:
    void deliver(Reply /*reply*/) override {}
};

// A call from inside the process: the answer is passed on as an object.
class LocalRequest final : public PendingRequest {
public:
    using Done = std::move_only_function<void(Reply)>;
    LocalRequest(const Dialect& dialect, Done done)
        : PendingRequest(dialect)
        , done_(std::move(done)) {}

private:
    void deliver(Reply reply) override { done_(std::move(reply)); }
    Done done_;
};

} // namespace holdfast::rpc
