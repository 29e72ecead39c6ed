// The memory contract: its methods as a table on the JSON-RPC dispatcher. Knows nothing of pipes or framing.
#pragma once

#include "memory/contract/host_embeddings.hpp"
#include "memory/contract/host_model.hpp"
#include "memory/service/peer.hpp"
#include "memory/service/service.hpp"
#include "rpc/dispatcher.hpp"

#include "json/json.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory {

// Links that open the pages of this home, while somebody serves them. From any thread.
class PageLinks {
public:
    PageLinks() = default;
    PageLinks(const PageLinks&) = delete;
    PageLinks& operator=(const PageLinks&) = delete;
    virtual ~PageLinks() = default;
    struct Link {
        std::string id;
        std::string url; // opens one page, once: a secret
    };
    virtual Link new_link(std::int64_t valid_ms) = 0;
    virtual std::string_view link_state(std::string_view id) = 0; // "open", "used" or "gone"
};

class Contract final : public Protocol, private rpc::Handlers {
public:
    // `calls` and `embeddings` outlive it: the service uses them, too.
    Contract(Service& service, HostCalls& calls, HostEmbeddings& embeddings);

    // Handles one line. The answer goes to the peer when it is there; a notification gets none.
    void handle(const std::shared_ptr<Peer>& peer, std::string_view line) override;
    // A line over the limit: an error with id null.
    void refuse_oversize(const std::shared_ptr<Peer>& peer, std::size_t limit) override;
    // transport_closed, retryable.
    [[nodiscard]] std::string lost(std::string_view raw_id) const override;
    // Its subscriptions go on, under the same ids.
    void resume(const std::shared_ptr<Peer>& peer, std::string_view state) override;
    // The peer is gone: its subscriptions end.
    void forget(const Peer* peer) override;
    // A call from inside the process: objects in, an object out. See local_call.hpp.
    void call(std::shared_ptr<Peer> peer, std::string_view method, json::object params,
              rpc::LocalRequest::Done done);

    // To the subscribers of that type, and to nobody else.
    void notify(std::string_view type, json::object payload);
    // A line for those who asked for logs.tail.
    void log(std::string_view level, std::string_view channel, std::string_view message);
    // The id of the subscription. Empty: the client has as many as can be remembered of it.
    std::string subscribe(const std::shared_ptr<Peer>& peer, bool logs, std::vector<std::string> types);
    // False: that client has none of that id.
    bool unsubscribe(const Peer* peer, std::string_view id);
    // Called from any thread when a client has asked for core.shutdown, after its answer. To be set before
    // the first line is handled.
    void on_shutdown(std::function<void(const Peer&)> ask) { on_shutdown_ = std::move(ask); }
    void ask_shutdown(const Peer& peer) const {
        if (on_shutdown_)
            on_shutdown_(peer);
    }

    // Null: the pages are not served (any more). From any thread.
    void serve_pages(std::shared_ptr<PageLinks> links);
    [[nodiscard]] std::shared_ptr<PageLinks> page_links();

    [[nodiscard]] HostModel& host_model() noexcept { return host_model_; }

    // One call in flight. The methods get it and must answer exactly once.
    class Call;

private:
    struct Subscription {
        std::string id;
        std::weak_ptr<Peer> peer;
        const Peer* raw;
        bool logs;
        std::vector<std::string> types; // empty: all
    };

    const rpc::Method* find(const std::shared_ptr<rpc::Connection>& connection,
                            std::string_view name) override;
    void serve(const rpc::Method& method, rpc::Request request) override;
    void take_answer(const std::shared_ptr<rpc::Connection>& connection, json::object message) override;

    bool remember_subscriptions(Peer& peer); // with the mutex held

    Service& service_;
    HostCalls& host_calls_;
    HostEmbeddings& host_embeddings_;
    HostModel host_model_;
    rpc::Dispatcher dispatcher_;
    std::mutex subscriptions_mutex_;
    std::vector<Subscription> subscriptions_;
    std::atomic<std::size_t> subscribers_ = 0; // so that nobody pays for events that nobody wants
    std::uint64_t sequence_ = 0;               // of events; begins anew, and higher, with each owner
    std::function<void(const Peer&)> on_shutdown_;
    std::mutex pages_mutex_;
    std::shared_ptr<PageLinks> page_links_;
};

// The answer to a request whose owner died: transport_closed, retryable. As good for any JSON-RPC dialect.
std::string lost_text(std::string_view raw_id);
// The error object of the contract: {code, message, data:{name, code, message, details?}}.
json::object contract_error(int code, std::string_view name, std::string_view message,
                            json::object details = {});
// The contract's words for an error of ours.
json::object contract_error(const Error& error);
// Parts of core.health, for those who say the same without an owner.
json::object counts_of(const Totals& totals);
json::object places_of(const HomePaths& paths);
json::object set_aside_warning(const std::string& kept_as);
// One for each note of a write-ahead log that was cut or moved (log_loss.hpp).
json::array log_loss_warnings(const std::vector<LogLoss>& losses);

} // namespace holdfast::memory
