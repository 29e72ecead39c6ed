#include "memory/serve/stream.hpp"

#include "memory/ids/ids.hpp"

#include <unistd.h>

#include <cerrno>

namespace holdfast::memory {

static_assert(Peer::longest_id <= Ledger::max_id);

Stream::Stream(sys::Fd in, sys::Fd out, Ledger ledger, std::string agent, int wake_fd)
    : in_(std::move(in))
    , out_(std::move(out))
    , agent_(std::move(agent))
    , wake_fd_(wake_fd)
    , ledger_(std::move(ledger)) {}

void Stream::wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_fd_, &one, sizeof one);
}

void Stream::send(std::string_view message) {
    answer(0, message);
}

Peer::Ticket Stream::begin(std::string_view raw_id) {
    const std::lock_guard lock(mutex_);
    return ledger_.begin(raw_id);
}

void Stream::answer(Ticket ticket, std::string_view message) {
    const std::lock_guard lock(mutex_);
    const bool was_full = !has_room_locked();
    if (gone_ || !ledger_.stage(ticket, message)) {
        gone_ = true; // no memory for an answer is the end of a client, too: it must not go on as if it had
                      // got it
        ledger_.drop(ticket);
    } else {
        answered_ = answered_ || ticket != 0;
        if (!blocked_)
            pump_locked();
    }
    // The serving thread sleeps in poll: it has to know when it should wait for the pipe, read on, or go.
    if (blocked_ || was_full || ended_)
        wake();
}

void Stream::withdraw(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    ledger_.drop(ticket);
    wake(); // there may be room again, or nothing left to wait for
}

bool Stream::remember(std::string_view state) {
    const std::lock_guard lock(mutex_);
    return ledger_.remember(state);
}

void Stream::pump_locked() {
    switch (ledger_.pump(out_.get())) {
    case Ledger::Sent::all:
        blocked_ = false;
        return;
    case Ledger::Sent::blocked:
        blocked_ = true;
        return;
    case Ledger::Sent::gone:
        blocked_ = false;
        gone_ = true;
        return;
    }
}

void Stream::take_over(Protocol& protocol) {
    std::vector<Ledger::Lost> lost;
    std::string state;
    {
        const std::lock_guard lock(mutex_);
        lost = ledger_.lost();
        state = ledger_.remembered();
        pump_locked();
    }
    if (!state.empty())
        protocol.resume(shared_from_this(), state);
    for (const auto& request : lost)
        answer(request.ticket, protocol.lost(request.raw_id));
    handle_lines(protocol);
}

void Stream::readable(Protocol& protocol) {
    const auto n = ledger_.fill(in_.get());
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    at_end_ = n <= 0;
    handle_lines(protocol);
}

bool Stream::has_lines() const {
    if (!lines_wait_ || held_ || ended_)
        return false;
    const std::lock_guard lock(mutex_);
    return has_room_locked();
}

void Stream::handle_waiting(Protocol& protocol) {
    if (has_lines())
        handle_lines(protocol);
}

void Stream::stop_reading() noexcept {
    read_enough_ = true;
    if (!lines_wait_)
        ended_ = true;
}

bool Stream::hold_lines() {
    held_ = true;
    return true;
}

void Stream::go_on() {
    held_ = false;
    wake();
}

// Each line is looked at before it is taken: a request that could not be noted would be lost with this
// process.
void Stream::handle_lines(Protocol& protocol) {
    const auto self = shared_from_this();
    const auto turn_ends = monotonic_us() + turn_us;
    lines_wait_ = true;
    do {
        const auto line = ledger_.next(at_end_);
        if (line.kind == Ledger::Line::Kind::none) {
            lines_wait_ = false;
            if (at_end_ || read_enough_)
                ended_ = true;
            return;
        }
        if (line.kind == Ledger::Line::Kind::oversize)
            protocol.refuse_oversize(self, ledger_.line_limit());
        else
            protocol.handle(self, line.text);
        ledger_.used();
    } while (has_lines() && monotonic_us() < turn_ends);
}

bool Stream::has_room_locked() const {
    return (gone_ || ledger_.unsent() < room) && ledger_.has_room();
}

void Stream::writable() {
    const std::lock_guard lock(mutex_);
    pump_locked();
}

bool Stream::wants_input() const {
    const std::lock_guard lock(mutex_);
    return !ended_ && !lines_wait_ && !at_end_ && !read_enough_ && has_room_locked();
}

bool Stream::wants_output() const {
    const std::lock_guard lock(mutex_);
    return blocked_ && !gone_;
}

void Stream::close() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    gone_ = true;
    blocked_ = false;
    in_.reset();
    out_.reset();
}

bool Stream::settled() const {
    const std::lock_guard lock(mutex_);
    return ledger_.in_flight() == 0 && !held_;
}

bool Stream::flushed() const {
    const std::lock_guard lock(mutex_);
    return gone_ || ledger_.unsent() == 0;
}

bool Stream::answered() const {
    const std::lock_guard lock(mutex_);
    return answered_;
}

} // namespace holdfast::memory
