#include "memory/serve/stdio_server.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace holdfast::memory {

PipePeer::~PipePeer() {
    stop();
}

void PipePeer::send(std::string_view message) {
    const std::lock_guard lock(mutex_);
    if (gone_)
        return;
    std::string line(message);
    line += '\n';
    // The common case without a second thread: nothing waits, and the pipe takes it. A pipe that polls
    // writable takes PIPE_BUF bytes without blocking.
    if (outbox_.empty() && !writing_ && line.size() <= PIPE_BUF) {
        pollfd ready{out_, POLLOUT, 0};
        if (::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0) {
            std::size_t done = 0;
            if (!write_some(line, done))
                gone_ = true;
            if (gone_ || done == line.size())
                return;
            line.erase(0, done);
        }
    }
    waiting_bytes_ += line.size();
    outbox_.push_back(std::move(line));
    if (!writer_.joinable())
        writer_ = std::thread([this] { writer(); });
    changed_.notify_all();
}

// False when the client is gone. Counts what was written into `done`.
bool PipePeer::write_some(std::string_view text, std::size_t& done) const {
    const auto written = ::write(out_, text.data() + done, text.size() - done);
    if (written >= 0) {
        done += static_cast<std::size_t>(written);
        return true;
    }
    if (errno == EINTR)
        return true;
    if (errno == EAGAIN) {
        pollfd ready{out_, POLLOUT, 0};
        ::poll(&ready, 1, 100);
        return true;
    }
    return false;
}

void PipePeer::writer() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stopping_ || !outbox_.empty(); });
        if (stopping_ || gone_)
            return;
        std::string line = std::move(outbox_.front());
        outbox_.pop_front();
        writing_ = true;
        for (std::size_t done = 0; done < line.size() && !gone_ && !stopping_;) {
            lock.unlock();
            // Waited for with a limit, so that stop() is never held up by a client that does not read.
            pollfd ready{out_, POLLOUT, 0};
            bool alive = true;
            if (::poll(&ready, 1, 100) == 1) {
                if ((ready.revents & (POLLERR | POLLNVAL)) != 0)
                    alive = false;
                else
                    alive = write_some(
                        std::string_view(line).substr(0, std::min(line.size(), done + PIPE_BUF)), done);
            }
            lock.lock();
            gone_ |= !alive;
        }
        writing_ = false;
        waiting_bytes_ -= line.size();
        if (gone_) {
            outbox_.clear();
            waiting_bytes_ = 0;
        }
        changed_.notify_all();
    }
}

void PipePeer::wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_bytes_ < room || gone_ || stopping_; });
}

bool PipePeer::flush(std::int64_t at_most_ms) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(at_most_ms),
                             [&] { return gone_ || (outbox_.empty() && !writing_); });
}

void PipePeer::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (writer_.joinable())
        writer_.join();
}

ServeEnd serve_pipe(Contract& contract, const std::shared_ptr<PipePeer>& peer, int in, int stop_fd,
                    int wake_fd, std::size_t max_line) {
    rpc::FrameReader reader(rpc::Framing::newline, max_line);
    const auto handle = [&](const rpc::Frame& frame) {
        if (frame.kind == rpc::Frame::Kind::oversize)
            Contract::refuse_oversize(peer, max_line);
        else if (frame.text.find_first_not_of(" \t\r") != frame.text.npos)
            contract.handle(peer, frame.text);
    };
    std::array<char, 64 * 1024> chunk;
    for (;;) {
        if (contract.shutdown_asked())
            return ServeEnd::shutdown_asked;
        peer->wait_for_room();
        pollfd ready[3] = {{in, POLLIN, 0}, {stop_fd, POLLIN, 0}, {wake_fd, POLLIN, 0}};
        if (::poll(ready, 3, -1) < 0 && errno != EINTR)
            return ServeEnd::end_of_input;
        if (ready[1].revents != 0)
            return ServeEnd::stopped;
        if (ready[0].revents == 0)
            continue;
        const auto length = ::read(in, chunk.data(), chunk.size());
        if (length < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (length <= 0)
            break;
        reader.feed({chunk.data(), static_cast<std::size_t>(length)});
        while (const auto frame = reader.next())
            handle(*frame);
    }
    if (const auto frame = reader.finish())
        handle(*frame);
    return ServeEnd::end_of_input;
}

} // namespace holdfast::memory
