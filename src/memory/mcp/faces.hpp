// What the MCP server offers: its tools and its resources.
#pragma once

#include "memory/mcp/mcp.hpp"

#include "json/json.hpp"

namespace holdfast::memory {

json::array tool_list();
// tools/call. What a tool cannot do is a result with isError, for the model to read; an unknown tool is an
// error of the protocol.
void call_tool(Contract& contract, Mcp::Request request);

json::array resource_list();
json::array resource_templates();
void read_resource(Contract& contract, Mcp::Request request);

// Bytes of text in one result: a model pays for each of them. With the line that says what was left out it is
// 8,000.
inline constexpr std::size_t result_budget = 7700;

// Traces and episodes as text for a model. Each trace says when, who and what; what is longer than `each` is
// cut with "…".
std::string trace_text(const json::object& trace, std::size_t each);
std::string moment_text(std::int64_t ms); // 2026-11-16 04:12, in UTC
// At most `size` bytes, cut between characters, with "…" when something is missing.
std::string cut_text(std::string_view text, std::size_t size);

} // namespace holdfast::memory
