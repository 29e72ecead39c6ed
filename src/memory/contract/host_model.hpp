// The host's model, asked by the reverse call host.llm.complete. Nothing ever waits for it, and an answer
// that comes after its deadline is not used.
#pragma once

#include "memory/contract/host_calls.hpp"

namespace holdfast::memory {

class HostModel {
public:
    using Done = std::move_only_function<void(std::string text)>;

    HostModel(HostCalls& calls, bool on, std::int64_t timeout_ms);
    [[nodiscard]] bool on() const noexcept { return on_; }

    // Sends the request; `done` is called with the text, from the thread that reads the client, or never.
    void ask(const std::shared_ptr<Peer>& peer, json::array messages, std::int64_t max_tokens, Done done);
    // {available, provider, model, lastOkAt, lastError}
    json::object health();

private:
    void take(Result<json::object> answer, Done& done);

    HostCalls& calls_;
    bool on_;
    std::int64_t timeout_ms_;
    std::mutex mutex_;
    std::string model_;
    std::string last_error_;
    std::int64_t last_ok_ = 0;
};

} // namespace holdfast::memory
