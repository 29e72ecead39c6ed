// One client as a server sees it: where its answers go. The transport implements it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::rpc {

// Outlives every answer that is still to come (shared). All functions may be called from any thread unless
// they say otherwise.
class Connection {
public:
    using Ticket = std::uint32_t;                   // 0: none
    static constexpr std::size_t longest_id = 4096; // as JSON text; a request with a longer one is refused

    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    virtual ~Connection() = default;

    // One message, without the newline, that answers nothing: a notification, or a request of ours. Never
    // waits for the client to read.
    virtual void send(std::string_view message) = 0;
    // Says that the line in hand is a request that will be answered; to be called on the thread that handles
    // the line, before anything is done for it. `raw_id` is JSON text, at most longest_id bytes: an id as it
    // was written, "null" for a line without one, or the list of the ids of a batch. A transport that keeps
    // the ids outside this process lets a successor answer them (Dispatcher::lost).
    virtual Ticket begin(std::string_view /*raw_id*/) { return 0; }
    // The answer to what was begun. Exactly once per ticket, unless it is withdrawn.
    virtual void answer(Ticket /*ticket*/, std::string_view message) { send(message); }
    // The client cancelled the request, and its protocol has no answer to that.
    virtual void withdraw(Ticket /*ticket*/) {}
    // To be called while a line is handled, on that thread: no further line of this client is handed out
    // until go_on(), from any thread, so that they still take effect in the order in which they came. False:
    // it cannot wait, so what the line asks for has to be done at once.
    virtual bool hold_lines() { return false; }
    virtual void go_on() {}
    // Keeps, outside this process, the state that another process needs to go on with this client: its
    // subscriptions, how far a handshake came. Replaced as a whole. False: not kept.
    virtual bool remember(std::string_view /*state*/) { return false; }
};

} // namespace holdfast::rpc
