// The memory as an MCP server: tools and resources, for clients of both eras, any number of them at once.
//
// The era of a request is in the request itself (a `_meta` with the protocol version is the modern one), so a
// client is served the same by whichever process owns the home at the moment. All that is kept of a client is
// the version that it agreed on in the legacy era, which decides whether it may send batches; it is kept with
// the client, and the next owner knows it.
#pragma once

#include "memory/contract/contract.hpp"

#include "json/json.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory {

class Mcp final : public Protocol {
public:
    explicit Mcp(Contract& contract)
        : contract_(contract) {}

    void handle(const std::shared_ptr<Peer>& peer, std::string_view line) override;
    void refuse_oversize(const std::shared_ptr<Peer>& peer, std::size_t limit) override;
    [[nodiscard]] std::string lost(std::string_view raw_id) const override;
    void resume(const std::shared_ptr<Peer>& peer, std::string_view state) override;
    void forget(const Peer* peer) override { versions_.erase(peer); }

    // One request on its way to its answer.
    struct Request {
        std::shared_ptr<Peer> peer;
        Peer::Ticket ticket = 0;
        std::string id = "null"; // as JSON text, the way it was written
        bool modern = false;
        json::object params;

        void answer(json::object result) const;
        void answer_text(std::string_view result) const; // JSON, as it is sent
        // A result that may be kept for a while (modern era): lists, and what is read.
        void answer_cacheable(json::object result, std::int64_t ttl_ms) const;
        void refuse(int code, std::string_view message, json::object data = {}) const;
    };

private:
    // An id that is too long is answered as null.
    static Request begin(const std::shared_ptr<Peer>& peer, std::string_view raw_id);
    void handle_message(const std::shared_ptr<Peer>& peer, json::value message, std::string_view raw_id,
                        bool in_batch);
    // `texts`: of the same messages.
    void handle_batch(const std::shared_ptr<Peer>& peer, json::array messages,
                      const std::vector<std::string_view>& texts);
    void initialize(const Request& request);

    Contract& contract_;
    std::map<const Peer*, std::string> versions_; // agreed on by initialize
};

// Mcp::lost without an object of it. The ids of a batch are a JSON array; so is the answer then.
std::string mcp_lost_text(std::string_view raw_id);

} // namespace holdfast::memory
