// The requests that can end before they are answered: because the client cancels them, or by a deadline. Only
// those are kept here. From any thread.
#pragma once

#include "rpc/connection.hpp"
#include "rpc/deadlines.hpp"
#include "rpc/responder.hpp"

#include "base/moment.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace holdfast::rpc {

class InFlight : public std::enable_shared_from_this<InFlight> {
public:
    // Keeps it until it is over. An empty id: it cannot be cancelled.
    void add(const std::shared_ptr<PendingRequest>& request, const Connection* from, std::string raw_id,
             base::Moment due);
    // That request of that client; null when it is over, or was never here.
    std::shared_ptr<PendingRequest> find(const Connection* from, std::string_view raw_id);
    // One whose deadline has passed; null: there is none.
    std::shared_ptr<PendingRequest> take_due(base::Moment now);
    [[nodiscard]] base::Moment next_deadline();
    // The client is gone: its requests cannot be cancelled any more.
    void forget(const Connection* from);
    [[nodiscard]] std::size_t size();

private:
    struct Entry {
        std::weak_ptr<PendingRequest> request;
        const Connection* from;
        std::string raw_id;
    };
    void remove(std::uint64_t number);

    std::mutex mutex_;
    std::map<std::uint64_t, Entry> entries_; // the newest last
    Deadlines deadlines_;
    std::uint64_t last_ = 0;
};

} // namespace holdfast::rpc
