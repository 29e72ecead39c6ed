// What the helper writes and reads: by the loop's thread, or by whoever has the turn.
#include "supervise/conversation.hpp"

#include "sys/pipes.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace holdfast::supervise {

namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10;
constexpr int reads_in_a_row = 16; // then the loop looks after others

rpc::PeerOptions peer_options(const HelperSpec& spec) {
    rpc::PeerOptions out;
    out.framing = spec.framing == RpcFraming::newline ? rpc::Framing::newline : rpc::Framing::content_length;
    out.cancel = spec.cancel == RpcCancel::lsp   ? rpc::CancelStyle::lsp
                 : spec.cancel == RpcCancel::mcp ? rpc::CancelStyle::mcp
                                                 : rpc::CancelStyle::silent;
    out.serve_within = spec.serve_within;
    out.limits.max_message = spec.limits.max_message;
    out.limits.max_in_flight = spec.limits.max_in_flight;
    out.limits.max_unsent_bytes = spec.limits.max_unsent_bytes;
    out.limits.max_requests = spec.limits.max_requests;
    return out;
}

} // namespace

void Conversation::on_start(Turn&) {
    watching_writable_ = input_broken_ = false;
    health_due_ = base::never;
    health_call_ = 0;
    if (!peer_)
        return;
    forget_written();
    noise_before_ += peer_->counters().noise + peer_->counters().oversize;
    peer_.reset();
}

// Not before the helper is known to run: its first words would be read while there is nobody to hear them.
void Conversation::on_spawned(Turn& turn) {
    peer_ = std::make_unique<rpc::Peer>(peer_options(spec_), process_.machine(turn).generation,
                                        registrations_, static_cast<rpc::PeerEvents&>(*this));
    if (spec_.ready_by == ReadyBy::health)
        health_due_ = now_moment();
    engine_->loop->watch(process_.output(turn), EPOLLIN, [weak = weak()](std::uint32_t) {
        if (const auto self = weak.lock())
            self->on_output();
    });
    engine_->loop->watch(process_.input(turn), 0, [weak = weak()](std::uint32_t events) {
        if (const auto self = weak.lock())
            self->on_writable(events);
    });
    output_ = process_.output(turn);
}

void Conversation::on_input_closing(Turn& turn) {
    engine_->loop->unwatch(process_.input(turn));
}

void Conversation::on_closing(Turn& turn) {
    evict_leader(turn);
    if (const int input = process_.input(turn); input >= 0)
        engine_->loop->unwatch(input);
    if (output_ >= 0) {
        engine_->loop->unwatch(output_);
        if (peer_)
            peer_->fail_all(core::describe(process_.machine(turn).failure));
    }
    output_ = -1;
}

void Conversation::on_writable(std::uint32_t events) {
    Turn turn(process_);
    const int input = process_.input(turn);
    if (input < 0)
        return;
    watching_writable_ = false;
    if ((events & EPOLLERR) != 0) {
        engine_->loop->unwatch(input); // this would be told for ever
        input_broken_ = true;
        process_.input_ended(turn);
    } else {
        engine_->loop->change(input, 0);
    }
    // The end of the turn writes on.
}

void Conversation::on_output() {
    {
        const Lock lock(process_);
        if (leader_ != nullptr)
            return; // a caller reads by itself; this event was under way
    }
    if (output_ >= 0 && !read_output(false))
        output_ended();
}

void Conversation::read_rest() {
    if (output_ >= 0 && !read_output(true))
        output_ended();
}

bool Conversation::read_output(bool to_the_end) {
    {
        Lock lock(process_);
        evict_leader(lock);
        loop_reads_ = true;
    }
    const bool open = read_pieces(to_the_end);
    const Lock lock(process_);
    loop_reads_ = false;
    return open;
}

bool Conversation::read_pieces(bool to_the_end) {
    std::array<char, read_bytes> buffer;
    for (int i = 0; to_the_end || i < reads_in_a_row; ++i) {
        // It does not block, and nobody's lock is held.
        // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
        const ssize_t n = ::read(output_, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        Turn turn(process_);
        receive(turn, std::string_view(buffer.data(), static_cast<std::size_t>(n)));
    }
    return true;
}

void Conversation::output_ended() {
    engine_->loop->unwatch(output_);
    Turn turn(process_);
    output_ = -1;
    if (peer_) {
        peer_->finish(now_moment());
        peer_->fail_all("the helper closed its output");
    }
    process_.output_ended(turn);
}

void Conversation::receive(Turn& turn, std::string_view bytes) {
    if (!peer_)
        return;
    const std::uint64_t before = peer_->counters().messages;
    peer_->receive(bytes, now_moment());
    // Whatever it says, it is not wedged.
    if (peer_->counters().messages != before)
        process_.answered(turn);
}

// Writes what can be written now. Called at the end of each turn, by whichever thread has it: so a request
// goes out on the thread that makes it.
void Conversation::flush(Turn& turn) {
    if (!peer_ || !peer_->has_output() || watching_writable_ || input_broken_)
        return;
    const int input = process_.input(turn);
    if (input < 0)
        return;
    for (;;) {
        const std::string_view bytes = peer_->output();
        if (bytes.empty())
            break;
        const sys::Written written = sys::write_quietly(input, bytes);
        if (written.state == sys::WriteState::broken) {
            input_broken_ = true; // heard of by the loop as well, which acts on it
            break;
        }
        if (written.state == sys::WriteState::would_block) {
            watching_writable_ = true;
            engine_->loop->change(input, EPOLLOUT);
            break;
        }
        peer_->consume(written.bytes);
        process_.drain_moved(turn); // it reads: patience moves with progress
    }
    if (!peer_->has_output()) {
        forget_written();
        process_.all_written(turn);
    }
}

// What is written is not sent again (unless it may be), so its params need not be kept. Those of a generation
// that was lost before they were written wait for the next one, and need theirs.
void Conversation::forget_written() {
    for (const auto& call : unwritten_)
        if (call->place != CallState::Place::waiting)
            std::string().swap(call->params);
    unwritten_.clear();
}

} // namespace holdfast::supervise
