// One client over two descriptors: lines in, lines out, with the books in its ledger.
//
// Reading never waits for answers, and answering never waits for the client: what it does not read stays in
// the outbox, and when that is full the client's further requests are not read until it has made room.
#pragma once

#include "memory/serve/ledger.hpp"
#include "memory/service/peer.hpp"
#include "sys/fd.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace holdfast::memory {

class Stream final : public Peer, public std::enable_shared_from_this<Stream> {
public:
    // `wake_fd`: an eventfd that is written to when the serving thread should look at this stream again; it
    // outlives the stream.
    Stream(sys::Fd in, sys::Fd out, Ledger ledger, std::string agent, int wake_fd);

    // From any thread (Peer).
    void send(std::string_view message) override;
    Ticket begin(std::string_view raw_id) override;
    void answer(Ticket ticket, std::string_view message) override;
    void withdraw(Ticket ticket) override;
    bool remember(std::string_view state) override;
    bool hold_lines() override;
    void go_on() override;
    [[nodiscard]] std::string_view agent() const override { return agent_; }
    [[nodiscard]] const void* lane() const override { return this; }
    [[nodiscard]] bool takes_requests() const override { return true; }

    // On the serving thread from here on.
    // Answers what an earlier owner had read and left unanswered, and handles the lines that it had read
    // ahead. To be called once, first.
    void take_over(Protocol& protocol);
    // Reads once and handles lines that are whole, for as long as a client may take while others wait.
    void readable(Protocol& protocol);
    // Lines that were read wait, and nothing but other clients is what they wait for: go_on() was called,
    // and there is room for their requests and answers.
    [[nodiscard]] bool has_lines() const;
    // Handles those, as readable() does.
    void handle_waiting(Protocol& protocol);
    void writable();
    [[nodiscard]] int in() const noexcept { return in_.get(); }
    [[nodiscard]] int out() const noexcept { return out_.get(); }
    [[nodiscard]] bool wants_input() const;
    [[nodiscard]] bool wants_output() const;
    // No further line will be handled.
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    // The input has ended, or its reading was stopped; lines that came before that may still be handled.
    [[nodiscard]] bool ending() const noexcept { return ended_ || at_end_ || read_enough_; }
    // Nothing more is read; the lines that were read are still handled, but half a line is none.
    void stop_reading() noexcept;
    // No further line is handled either. They stay in the books, for the next owner.
    void leave_lines() noexcept { ended_ = true; }
    // Lets go of the descriptors, although answers may still come: nobody will read them here.
    void close();
    // Nothing is being worked on.
    [[nodiscard]] bool settled() const;
    // Everything was sent, or nobody will read it any more.
    [[nodiscard]] bool flushed() const;
    // A request of this client was answered by this process.
    [[nodiscard]] bool answered() const;

private:
    void handle_lines(Protocol& protocol);
    [[nodiscard]] bool has_room_locked() const;
    void pump_locked();
    void wake() const;

    static constexpr std::uint64_t room = std::uint64_t{32} << 20;
    static constexpr std::int64_t turn_us = 1000; // of lines, and then it is another client's turn
    sys::Fd in_;
    sys::Fd out_;
    std::string agent_;
    int wake_fd_;
    std::atomic<bool> ended_ = false;
    std::atomic<bool> held_ = false; // between hold_lines() and go_on()
    bool lines_wait_ = false;        // there may be lines that were read and not handled
    bool at_end_ = false;            // nothing more will come in
    bool read_enough_ = false;       // nothing more is to be read
    mutable std::mutex mutex_;       // of all that follows
    Ledger ledger_;
    bool blocked_ = false;
    bool gone_ = false;
    bool answered_ = false;
};

} // namespace holdfast::memory
