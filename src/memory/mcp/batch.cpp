#include "memory/mcp/batch.hpp"

namespace holdfast::memory {

Batch::Batch(std::shared_ptr<Peer> client, Ticket ticket, std::size_t requests)
    : client_(std::move(client))
    , ticket_(ticket)
    , answers_(requests)
    , missing_(requests) {}

Peer::Ticket Batch::begin(std::string_view /*raw_id*/) {
    return ++begun_; // the ids are noted with the ticket of the line
}

void Batch::answer(Ticket ticket, std::string_view message) {
    std::string line;
    {
        const std::lock_guard lock(mutex_);
        answers_.at(ticket - 1) = message;
        if (--missing_ > 0)
            return;
        for (const auto& answer : answers_) {
            line += line.empty() ? '[' : ',';
            line += answer;
        }
        line += ']';
    }
    client_->answer(ticket_, line);
}

} // namespace holdfast::memory
