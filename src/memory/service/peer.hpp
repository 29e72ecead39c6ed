// What a client looks like to a protocol, and a protocol to whoever serves clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::memory {

// One client. Outlives every answer that is still to come (shared). All functions may be called from any
// thread unless they say otherwise.
class Peer {
public:
    using Ticket = std::uint32_t;                   // 0: none
    static constexpr std::size_t longest_id = 4096; // as JSON text; a request with a longer one is refused

    Peer() = default;
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    virtual ~Peer() = default;

    // One message, without the newline, that answers nothing: a notification, or a request of ours. Never
    // waits for the client to read.
    virtual void send(std::string_view message) = 0;
    // Says that the line in hand is a request that will be answered; to be called on the thread that handles
    // the line, before anything is done for it. From here on the client gets an answer whatever happens to
    // this process: a successor answers it with Protocol::lost. `raw_id` is JSON text, at most longest_id
    // bytes; "null" for a line without one.
    virtual Ticket begin(std::string_view /*raw_id*/) { return 0; }
    // The answer to what was begun. Exactly once per ticket.
    virtual void answer(Ticket /*ticket*/, std::string_view message) { send(message); }
    // To be called while a line is handled, on that thread: no further line of this client is handed out
    // until go_on(), from any thread, so that they still take effect in the order in which they came. False:
    // it cannot wait, so what the line asks for has to be done at once.
    virtual bool hold_lines() { return false; }
    virtual void go_on() {}
    // What its protocol has to know of this client should another process become the owner: subscriptions,
    // how far a handshake came. Kept outside this process, replaced as a whole. False: longer than 32 KiB,
    // not kept.
    virtual bool remember(std::string_view /*state*/) { return false; }
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
