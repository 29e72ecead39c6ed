// The host's model, asked by the reverse call host.llm.complete. Optional work only: nothing ever waits for
// it, and an answer that comes after its deadline is not used.
#pragma once

#include "memory/service/peer.hpp"

#include <boost/json.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace holdfast::memory {

class HostModel {
public:
    using Done = std::move_only_function<void(std::string text)>;

    HostModel(bool on, std::int64_t timeout_ms);
    [[nodiscard]] bool on() const noexcept { return on_; }

    // Sends the request; `done` is called with the text, from the thread that reads the client, or never.
    void ask(const std::shared_ptr<Peer>& peer, boost::json::array messages, std::int64_t max_tokens,
             Done done);
    // True when this is an answer to a request of ours, from the client that it went to. It is used if it is
    // in time.
    bool take(const Peer* peer, const boost::json::object& answer);
    void forget(const Peer* peer);
    // {available, provider, model, lastOkAt, lastError}
    boost::json::object health();

private:
    struct Asked {
        const Peer* peer;
        std::int64_t deadline_ms;
        Done done;
    };
    void drop_late(std::int64_t now);

    static constexpr std::size_t most_asked = 16;
    bool on_;
    std::int64_t timeout_ms_;
    std::mutex mutex_;
    std::map<std::string, Asked, std::less<>> asked_;
    std::int64_t next_;
    std::string model_;
    std::string last_error_;
    std::int64_t last_ok_ = 0;
};

} // namespace holdfast::memory
