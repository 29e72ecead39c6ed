// Several requests in one line, answered by one line: a JSON array.
#pragma once

#include "rpc/connection.hpp"
#include "rpc/responder.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::rpc {

// Gathers the answers of one batch, and hands them to the client together when the last one has come. Answers
// stand in the order of their requests, whoever was faster.
class Batch {
public:
    // `ticket`: of the whole line, begun at `connection`. `requests`: how many of them will be answered.
    Batch(std::shared_ptr<Connection> connection, Connection::Ticket ticket, std::size_t requests);
    // The answer to the request at this place; empty: it has none.
    void put(std::size_t place, std::string answer);

private:
    std::shared_ptr<Connection> connection_;
    Connection::Ticket ticket_;
    std::mutex mutex_; // of what follows
    std::vector<std::string> answers_;
    std::size_t missing_;
};

class BatchedRequest final : public PendingRequest {
public:
    BatchedRequest(const Dialect& dialect, std::shared_ptr<Batch> batch, std::size_t place,
                   std::string raw_id);

private:
    void deliver(Reply reply) override;
    void drop() override { batch_->put(place_, {}); }

    std::shared_ptr<Batch> batch_;
    std::size_t place_;
    std::string raw_id_;
};

} // namespace holdfast::rpc
