#include "rpc/batch.hpp"

namespace holdfast::rpc {

Batch::Batch(std::shared_ptr<Connection> connection, Connection::Ticket ticket, std::size_t requests)
    : connection_(std::move(connection))
    , ticket_(ticket)
    , answers_(requests)
    , missing_(requests) {}

void Batch::put(std::size_t place, std::string answer) {
    std::string line;
    {
        const std::lock_guard lock(mutex_);
        answers_.at(place) = std::move(answer);
        if (--missing_ > 0)
            return;
        for (const auto& one : answers_) {
            if (one.empty())
                continue;
            line += line.empty() ? '[' : ',';
            line += one;
        }
    }
    if (line.empty())
        return connection_->withdraw(ticket_);
    connection_->answer(ticket_, line + ']');
}

BatchedRequest::BatchedRequest(const Dialect& dialect, std::shared_ptr<Batch> batch, std::size_t place,
                               std::string raw_id)
    : PendingRequest(dialect)
    , batch_(std::move(batch))
    , place_(place)
    , raw_id_(std::move(raw_id)) {}

void BatchedRequest::deliver(Reply reply) {
    batch_->put(place_, write_reply(raw_id_, reply));
}

} // namespace holdfast::rpc
