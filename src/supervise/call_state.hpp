// A request of the host from its submission to its answer.
#pragma once

#include "base/moment.hpp"
#include "holdfast/supervisor.hpp"
#include "rpc/peer.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::supervise {

class CallState {
public:
    // Given by the caller.
    rpc::HoldTag hold = 0;
    std::string method;
    std::string params;
    base::Moment deadline = base::never;
    bool idempotent = false;
    Generation only = 0;
    Answered answered;
    bool passed_on = false; // `answered` only passes the answer on
    std::weak_ptr<Conversation> helper;

    // Under the helper's lock.
    enum class Place { nowhere, waiting, sent, over };
    Place place = Place::nowhere;
    std::uint64_t number = 0;        // in the waiting list, or the id of the call
    Generation generation = 0;       // it was sent to
    std::shared_ptr<CallState> self; // while the peer knows it by its address

    // Ends it: exactly once, outside of all locks.
    void finish(Result<Reply> result);
    void finish_elsewhere(); // the answer went to the callback: it is done, and nothing is left to take
    [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire) != 0; }
    // True when it is done.
    bool wait_until(base::Moment due) const noexcept;
    // The outcome, moved out. Only when done.
    Result<Reply> take();

private:
    std::atomic<std::uint32_t> done_{0};
    std::optional<Result<Reply>> outcome_;
};

} // namespace holdfast::supervise
