// A server that outlives its host: it answers each line, and a timer keeps it alive after the end of stdin.
import { createInterface } from "node:readline";

setInterval(() => {}, 60_000);
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id } = JSON.parse(line);
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: { pid: process.pid } }) + "\n");
});
