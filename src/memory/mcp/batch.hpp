// Several requests in one line, answered by one line: a JSON array, as the MCP version 2025-03-26 has it.
#pragma once

#include "memory/service/peer.hpp"

#include <mutex>
#include <vector>

namespace holdfast::memory {

// The peer of the requests of one batch: gathers their answers, and hands them to the client together when
// the last one has come. Answers stand in the order of their requests, whoever was faster.
class Batch final : public Peer {
public:
    // `ticket`: of the whole line, begun at `client`. `requests`: how many of them will begin and be
    // answered.
    Batch(std::shared_ptr<Peer> client, Ticket ticket, std::size_t requests);

    void send(std::string_view message) override { client_->send(message); }
    Ticket begin(std::string_view raw_id) override;
    void answer(Ticket ticket, std::string_view message) override;
    bool remember(std::string_view state) override { return client_->remember(state); }
    [[nodiscard]] std::string_view agent() const override { return client_->agent(); }

private:
    std::shared_ptr<Peer> client_;
    Ticket ticket_;
    Ticket begun_ = 0; // on the thread that handles the line
    std::mutex mutex_; // of what follows
    std::vector<std::string> answers_;
    std::size_t missing_;
};

} // namespace holdfast::memory
