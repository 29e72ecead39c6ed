// The contract's reverse calls: requests of ours to a client, each with a deadline. Optional work only: no
// answer to a client waits for one beyond its stated time.
#pragma once

#include "holdfast/result.hpp"
#include "memory/service/peer.hpp"

#include "json/json.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace holdfast::memory {

class HostCalls {
public:
    // The result, or: unsupported (the client does not know the method), timed_out, closed (the client is
    // gone), overflow (too many are unanswered), protocol (any other error of the client, in its words).
    using Done = std::move_only_function<void(Result<json::object>)>;

    HostCalls();
    HostCalls(const HostCalls&) = delete;
    HostCalls& operator=(const HostCalls&) = delete;

    // Sends the request. `done` is called once, on the thread that reads the client or on one that calls
    // anything here: an answer that is late is told as timed_out, when somebody next looks.
    void ask(const std::shared_ptr<Peer>& peer, std::string_view method, json::object params,
             std::int64_t timeout_ms, Done done);
    // True when this answers a request of ours, and comes from the client that it went to.
    bool take(const rpc::Connection* peer, const json::object& answer);
    // The client is gone.
    void forget(const Peer* peer);
    // Tells those whose time is over.
    void drop_late();

private:
    struct Asked {
        const Peer* peer;
        std::int64_t deadline_ms;
        std::int64_t timeout_ms;
        Done done;
    };
    using AskedById = std::map<std::string, Asked, std::less<>>;
    // Out of the map those that match, to be told without the mutex.
    std::vector<Asked> pick(const std::function<bool(const Asked&)>& match);

    static constexpr std::size_t most_asked = 16; // a host that never answers is not asked for ever
    std::mutex mutex_;
    AskedById asked_;
    std::int64_t next_;
};

} // namespace holdfast::memory
