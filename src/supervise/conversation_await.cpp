// A thread that waits for an answer reads the helper's output by itself, if nobody else does: the answer then
// arrives where it is wanted, without waking another thread first. While it reads, the loop does not; what it
// reads for others it hands out as the loop would.
#include "supervise/conversation.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

namespace holdfast::supervise {

namespace {
constexpr std::size_t read_bytes = std::size_t{16} << 10; // on the caller's stack, which may be small

timespec span_until(base::Moment due) {
    const auto left = std::max<std::int64_t>(0, (due - now_moment()).count());
    return {.tv_sec = static_cast<time_t>(left / 1'000'000'000),
            .tv_nsec = static_cast<long>(left % 1'000'000'000)};
}
} // namespace

bool Conversation::may_lead(const Lock& lock) const {
    // One reads at a time, or pieces of messages would be taken in the wrong order.
    return leader_ == nullptr && !evict_ && !loop_reads_ && process_.usable(lock) && leader_wake_.valid();
}

void Conversation::wake_leader() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(leader_wake_.get(), &one, sizeof one));
}

// Before the descriptor goes, or when the loop must read: the leader leaves at once.
void Conversation::evict_leader(Lock& lock) {
    if (leader_ == nullptr)
        return;
    evict_ = true;
    wake_leader();
    Turn* const mine = turn_;
    turn_ = nullptr;
    leader_left_.wait(lock.lock(), [this] { return leader_ == nullptr; });
    turn_ = mine;
    evict_ = false;
}

void Conversation::make_leader_wake() {
    if (leader_wake_.valid())
        return;
    const sys::ForkShield::NoFork no_fork;
    leader_wake_ = sys::own_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (leader_wake_)
        leader_shield_.add(leader_wake_.get(), no_fork);
}

int Conversation::begin_to_lead(const Lock&, const CallState& call) {
    leader_ = &call;
    engine_->loop->change(output_, 0);
    return output_;
}

void Conversation::end_to_lead(int output) {
    leader_ = nullptr;
    engine_->loop->change(output, EPOLLIN); // also for who evicts it: afterwards the loop is the reader
    if (evict_)
        leader_left_.notify_all();
}

bool Conversation::await(CallState& call, base::Moment due) {
    int output = -1;
    {
        const Lock lock(process_);
        make_leader_wake();
        if (!call.done() && call.place == CallState::Place::sent && may_lead(lock))
            output = begin_to_lead(lock, call);
    }
    if (output >= 0)
        lead(call, output, due);
    return call.wait_until(due);
}

bool Conversation::submit_and_await(const std::shared_ptr<CallState>& call, base::Moment due) {
    int output = -1;
    {
        // It reads before it asks: an answer that comes at once wakes nobody else.
        Turn turn(process_);
        make_leader_wake();
        if (may_lead(turn))
            output = begin_to_lead(turn, *call);
        send_or_wait(turn, call);
        if (output >= 0 && call->place != CallState::Place::sent)
            end_to_lead(std::exchange(output, -1));
    }
    if (output >= 0)
        lead(*call, output, due);
    return call->wait_until(due);
}

void Conversation::lead(CallState& call, int output, base::Moment due) {
    std::array<char, read_bytes> buffer;
    std::array<pollfd, 2> fds{{{.fd = output, .events = POLLIN, .revents = 0},
                               {.fd = leader_wake_.get(), .events = POLLIN, .revents = 0}}};
    bool leading = true;
    while (leading && !call.done()) {
        timespec span{};
        if (due != base::never)
            span = span_until(due);
        const int n = ::ppoll(fds.data(), fds.size(), due == base::never ? nullptr : &span, nullptr);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        if (n < 0)
            continue;
        if (fds[1].revents != 0) {
            std::uint64_t ignored = 0;
            static_cast<void>(!::read(fds[1].fd, &ignored, sizeof ignored));
            const Lock lock(process_);
            // Either it is to leave, or its call is over, which is about to be said.
            leading = !evict_ && call.place == CallState::Place::sent;
        }
        if (fds[0].revents != 0 && leading) {
            const ssize_t size = ::read(output, buffer.data(), buffer.size());
            if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
                break; // the loop sees the same, and deals with it
            if (size > 0) {
                Turn turn(process_);
                leader_acts_ = true;
                receive(turn, std::string_view(buffer.data(), static_cast<std::size_t>(size)));
            }
        }
    }
    const Lock lock(process_);
    end_to_lead(output);
}

} // namespace holdfast::supervise
