// The revisions of MCP, and the names and codes that all speakers share.
#pragma once

#include "rpc/dialect.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::mcp {

// Requests of the legacy era follow an `initialize`; those of the modern era carry their version themselves.
enum class Era : std::uint8_t { both, legacy, modern };

inline constexpr std::array<std::string_view, 4> legacy_versions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                                    "2024-11-05"}; // the newest first
inline constexpr std::string_view batch_version = "2025-03-26"; // the only one with batches
inline constexpr std::string_view modern_version = "2026-07-28";

inline constexpr std::string_view version_key = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view capabilities_key = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view server_key = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view subscription_key = "io.modelcontextprotocol/subscriptionId";

inline constexpr int resource_not_found = -32002; // legacy era; the modern one has invalid_params for it
inline constexpr int unsupported_version = -32022;
inline constexpr int try_again = 1001; // our own codes lie outside the range that JSON-RPC keeps for itself

// The error object for a complaint. Notifications are never answered; an id that is too long comes back as
// null.
std::string error_of(const rpc::Complaint& complaint);
inline constexpr rpc::Dialect plain_dialect{error_of, true};

// The version that is agreed on with a client that asks for this one: the same, or the newest legacy one.
std::string_view agreed_version(std::string_view asked) noexcept;

} // namespace holdfast::mcp
