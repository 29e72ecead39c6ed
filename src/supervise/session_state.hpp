// What stands behind a Session.
#pragma once

#include "core/moment.hpp"
#include "holdfast/supervisor.hpp"
#include "rpc/peer.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>

namespace holdfast::supervise {

class SessionState : public std::enable_shared_from_this<SessionState> {
public:
    Result<Reply> request(std::string_view method, std::string_view params, const RequestOptions& options);

    std::weak_ptr<Helper> helper;
    rpc::HoldTag hold = 0;
    SessionOpen open;

    mutable std::mutex mutex;
    std::condition_variable changed;
    Generation open_on = 0;
    bool opening = false;
    Generation opening_on = 0; // of the opening under way; for the thread that runs it
    core::Moment opening_due = core::never;

private:
    Result<Reply> send(std::string_view method, std::string_view params, const RequestOptions& options,
                       Generation generation, core::Moment due);
    Result<void> ensure_open(Generation generation, core::Moment due);
};

} // namespace holdfast::supervise
