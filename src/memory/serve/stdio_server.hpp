// One client over a pair of descriptors: lines in, lines out.
//
// Reading never waits for answers, and answering never waits for the client: what it does not read is kept in
// an outbox, and when that is full the client's further requests are not read until it has made room.
#pragma once

#include "memory/contract/contract.hpp"
#include "rpc/framing.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace holdfast::memory {

class PipePeer final : public Peer {
public:
    explicit PipePeer(int out)
        : out_(out) {}
    ~PipePeer() override;
    void send(std::string_view message) override;
    // Waits until the outbox has room again, or the peer is gone.
    void wait_for_room();
    // Waits until all is written or the client is gone, at most this long. True: nothing is left.
    bool flush(std::int64_t at_most_ms);
    void stop();

private:
    void writer();
    bool write_some(std::string_view text, std::size_t& done) const;

    static constexpr std::size_t room = std::size_t{32} << 20;
    int out_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> outbox_;
    std::size_t waiting_bytes_ = 0;
    bool writing_ = false; // the writer thread has a message in hand
    bool gone_ = false;
    bool stopping_ = false;
    std::thread writer_;
};

enum class ServeEnd { end_of_input, stopped, shutdown_asked };

// Serves until the input ends, `stop_fd` becomes readable, or core.shutdown was answered (and `wake_fd` made
// readable for it; -1: none). All lines that were read are handed to the contract, an unterminated last one
// at the end of input too. Answers may still be on their way.
ServeEnd serve_pipe(Contract& contract, const std::shared_ptr<PipePeer>& peer, int in, int stop_fd,
                    int wake_fd, std::size_t max_line = rpc::default_max_message);

} // namespace holdfast::memory
