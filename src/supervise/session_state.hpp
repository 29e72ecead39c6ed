// What stands behind a Session.
#pragma once

#include "base/moment.hpp"
#include "holdfast/supervisor.hpp"
#include "rpc/peer.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace holdfast::supervise {

class SessionState : public std::enable_shared_from_this<SessionState> {
public:
    SessionState(std::weak_ptr<Conversation> of, rpc::HoldTag tag, SessionOpen opener)
        : helper_(std::move(of))
        , hold_(tag)
        , open_(std::move(opener)) {}

    Result<Reply> request(std::string_view method, std::string_view params, const RequestOptions& options);
    [[nodiscard]] Generation open_on() const;

private:
    // What an opening is given: whoever asks through it, on whichever thread, goes to its generation.
    struct Opening {
        Generation generation = 0;
        base::Moment due = base::never;
    };

    class UnderWay;

    Result<Reply> send(std::string_view method, std::string_view params, const RequestOptions& options,
                       Generation generation, base::Moment due);
    Result<void> ensure_open(Generation generation, base::Moment due);
    Result<void> run_opening(const Opening& opening);

    const std::weak_ptr<Conversation> helper_;
    const rpc::HoldTag hold_;
    const SessionOpen open_;
    std::optional<Opening> opening_of_; // set in what an opening is given, and never changed

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Generation open_on_ = 0;
    bool opening_ = false;
    Opening opening_now_; // of the opening under way
};

} // namespace holdfast::supervise
