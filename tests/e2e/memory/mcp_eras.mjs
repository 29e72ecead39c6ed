// The client that speaks both eras.   node mcp_eras.mjs HOLDFAST legacy|auto|VERSION
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { useEverything } from "./mcp_uses.mjs";

const [command, era] = process.argv.slice(2);
const mode = era === "legacy" || era === "auto" ? era : { pin: era };
const client = new Client({ name: "both", version: "1" }, { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command, args: ["memory", "mcp", "--no-viewer"], env: process.env }));
assert.equal(client.getNegotiatedProtocolVersion(), era === "legacy" ? "2025-11-25" : "2026-07-28");
assert.equal(client.getServerVersion().name, "holdfast-memory");
await useEverything(client, [-32002, -32602]);
await client.close();
console.log("passed");
