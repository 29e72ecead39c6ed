// Eight clients of both eras on one home, all asking at once: one owner, and everybody gets his own answers.
//   node mcp_shared.mjs HOLDFAST HOME
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [command, home] = process.argv.slice(2);
const clients = await Promise.all(
  Array.from({ length: 8 }, async (_, number) => {
    const client = new Client({ name: `client ${number}`, version: "1" }, { versionNegotiation: { mode: number % 2 ? "legacy" : { pin: "2026-07-28" } } });
    await client.connect(new StdioClientTransport({ command, args: ["memory", "mcp", "--no-viewer", "--home", home], env: process.env }));
    return client;
  }),
);
const status = async (client) => JSON.parse((await client.readResource({ uri: "memory://status" }, { cacheMode: "bypass" })).contents[0].text);
assert.equal(new Set(await Promise.all(clients.map(async (client) => (await status(client)).pid))).size, 1, "one owner");

const words = ["heron", "kestrel", "otter", "badger", "lynx", "marten", "plover", "dormouse"];
await Promise.all(
  clients.map(async (client, number) => {
    for (let i = 0; i < 20; i++) await client.callTool({ name: "remember", arguments: { text: `${words[number]} number ${i}`, session: `se_${words[number]}` } });
    for (let i = 0; i < 20; i++) {
      const { content } = await client.callTool({ name: "search", arguments: { query: words[number], limit: 3 } });
      assert.match(content[0].text, new RegExp(words[number]));
      for (const other of words) if (other !== words[number]) assert.doesNotMatch(content[0].text, new RegExp(other));
    }
  }),
);
assert.equal((await status(clients[0])).counts.traces, 160);

// The owner's own client leaves: the others go on, at most with an error that says "ask again".
const owner = (await status(clients[0])).pid;
const again = async (work) => {
  for (let attempt = 0; ; attempt++)
    try {
      return await work();
    } catch (error) {
      if (error.code !== 1001 || attempt === 50) throw error;
      await new Promise((later) => setTimeout(later, 100));
    }
};
process.kill(owner, "SIGKILL"); // the process whose number the owner itself has just told, and which this script started
const rest = [];
for (const client of clients) if (client.transport.pid !== owner) rest.push(client);
assert.equal(rest.length, 7);
for (const client of rest) {
  const { content } = await again(() => client.callTool({ name: "search", arguments: { query: "heron", limit: 3 } }));
  assert.match(content[0].text, /heron/);
}
assert.notEqual((await again(() => status(rest[0]))).pid, owner);
assert.equal((await again(() => status(rest[0]))).counts.traces, 160, "nothing was lost");
await Promise.all(clients.map((client) => client.close().catch(() => {})));
console.log("passed");
