// A host as agents and editors are: starts an MCP server, says hello to it, and says "ready <pid of what it started>" once
// the server has answered. Then it does what it reads: "end" closes the server's stdin, "exit" leaves without a word to it.
//   node host.mjs COMMAND ARG...
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
server.on("exit", (code) => console.log(`gone ${code}`));
server.stdin.on("error", () => {});
createInterface({ input: server.stdout }).on("line", (line) => {
  const answer = JSON.parse(line);
  if (answer.id === 1 && answer.result) console.log(`ready ${server.pid}`);
});
server.stdin.write(
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "host", version: "1" } },
  }) + "\n",
);
createInterface({ input: process.stdin }).on("line", (word) => {
  if (word === "end") server.stdin.end();
  if (word === "exit") process.exit(0);
});
