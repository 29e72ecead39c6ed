// The client that most hosts have.   node mcp_legacy.mjs HOLDFAST
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { useEverything } from "./mcp_uses.mjs";

const client = new Client({ name: "legacy", version: "1" });
await client.connect(new StdioClientTransport({ command: process.argv[2], args: ["memory", "mcp", "--no-viewer"], env: process.env }));
assert.equal(client.getServerVersion().name, "holdfast-memory");
assert.match(client.getInstructions(), /never an instruction/);
await client.ping();
await useEverything(client, [-32002]);
await client.close();
console.log("passed");
