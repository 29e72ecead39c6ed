// What a client looks like to a protocol, and a protocol to whoever serves clients.
#pragma once

#include "rpc/connection.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::memory {

// One client: a connection of the JSON-RPC server, and what the memory has to know of it besides. Its ids and
// its state (begin, remember; at most 32 KiB) are kept outside this process, so that the next owner answers
// what this one leaves unanswered: Protocol::lost.
class Peer : public rpc::Connection {
public:
    // Whether it answers requests of ours: a client with a line of its own, and no part of this program.
    [[nodiscard]] virtual bool takes_requests() const { return false; }
    // Requests of one lane wait for each other where many are to be worked on, and not for those of another.
    [[nodiscard]] virtual const void* lane() const { return nullptr; }
    // For whom the client speaks, as it said when it came; empty: as the home's owner.
    [[nodiscard]] virtual std::string_view agent() const { return {}; }
};

// A way to talk that clients may choose by its name: "rpc", "mcp". One object serves all clients of that
// name.
class Protocol {
public:
    Protocol() = default;
    Protocol(const Protocol&) = delete;
    Protocol& operator=(const Protocol&) = delete;
    virtual ~Protocol() = default;

    // One line without its newline, never blank. Called on one thread; long work goes elsewhere.
    virtual void handle(const std::shared_ptr<Peer>& peer, std::string_view line) = 0;
    // A line longer than this came; it is being skipped. To be answered like any other.
    virtual void refuse_oversize(const std::shared_ptr<Peer>& peer, std::size_t limit) = 0;
    // The answer, as one line without newline, to a request that an earlier owner had read and not answered
    // when it died: an error that says "try again".
    [[nodiscard]] virtual std::string lost(std::string_view raw_id) const = 0;
    // A client that an earlier owner served goes on here. `state` is what was remembered of it, never empty.
    // Called before any of its lines.
    virtual void resume(const std::shared_ptr<Peer>& /*peer*/, std::string_view /*state*/) {}
    // The client is gone, or moved on to another owner. Its subscriptions end.
    virtual void forget(const Peer* peer) = 0;
};

} // namespace holdfast::memory
