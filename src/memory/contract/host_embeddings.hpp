// Vectors by the host itself, for a home that is configured so: the reverse call
//   host.embed {texts: […], model?, timeoutMs} -> {vectors: [[…], …], model?}
// goes to the client that came last and has not said that it cannot; when that one cannot, to the one before.
#pragma once

#include "memory/contract/host_calls.hpp"
#include "memory/embed/embedding_source.hpp"

#include <vector>

namespace holdfast::memory {

class HostEmbeddings final : public EmbeddingSource {
public:
    explicit HostEmbeddings(HostCalls& calls)
        : calls_(calls) {}

    Result<Vectors> embed(const std::vector<std::string>& texts, const std::string& model,
                          std::int64_t deadline_us, const std::atomic<bool>& give_up) override;
    [[nodiscard]] std::string_view provider() const noexcept override { return "host"; }

    // A client that can be asked is here. Again and again: only the first time counts.
    void met(const std::shared_ptr<Peer>& peer);
    void forget(const Peer* peer);

private:
    struct Host {
        std::weak_ptr<Peer> peer;
        const Peer* raw;
        bool cannot = false;
    };
    std::shared_ptr<Peer> newest();
    Result<Vectors> ask(const std::shared_ptr<Peer>& peer, const std::vector<std::string>& texts,
                        const std::string& model, std::int64_t deadline_us, const std::atomic<bool>& give_up);

    HostCalls& calls_;
    std::mutex mutex_;
    std::vector<Host> hosts_; // in the order in which they came
};

} // namespace holdfast::memory
