// The memory as an MCP server: its tools and its resources, as tables for src/mcp.
#pragma once

#include "mcp/server.hpp"
#include "memory/contract/contract.hpp"

#include <string>
#include <string_view>

namespace holdfast::memory {

class Mcp final : public Protocol, private mcp::Offer {
public:
    explicit Mcp(Contract& contract);

    void handle(const std::shared_ptr<Peer>& peer, std::string_view line) override;
    void refuse_oversize(const std::shared_ptr<Peer>& peer, std::size_t limit) override;
    [[nodiscard]] std::string lost(std::string_view raw_id) const override;
    void resume(const std::shared_ptr<Peer>& peer, std::string_view state) override;
    void forget(const Peer* peer) override { server_.forget(peer); }

private:
    [[nodiscard]] const mcp::Identity& identity() const override;
    [[nodiscard]] json::object capabilities() const override;
    [[nodiscard]] json::array tools() const override;
    [[nodiscard]] json::array resources() const override;
    [[nodiscard]] json::array resource_templates() const override;
    void call_tool(mcp::Request request) override;
    void read_resource(mcp::Request request) override;

    Contract& contract_;
    mcp::Server server_;
};

// Mcp::lost without an object of it. The ids of a batch are a JSON array; so is the answer then.
std::string mcp_lost_text(std::string_view raw_id);

} // namespace holdfast::memory
