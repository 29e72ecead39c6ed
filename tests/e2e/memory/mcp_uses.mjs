// What every MCP client is put through: each tool, each resource, and what a model must be able to read.
import assert from "node:assert/strict";

export async function useEverything(client, resourceMissing) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["search", "remember", "recall_timeline", "forget", "feedback"]);
  for (const tool of tools) {
    assert.equal(tool.inputSchema.type, "object");
    assert.ok(tool.description.length > 20);
  }
  assert.equal(tools.find((tool) => tool.name === "search").annotations.readOnlyHint, true);
  assert.equal(tools.find((tool) => tool.name === "forget").annotations.destructiveHint, true);
  const use = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.content.length, 1);
    assert.ok(Buffer.byteLength(result.content[0].text) < 9000, `${name} is too long for a model`);
    return { text: result.content[0].text, failed: Boolean(result.isError) };
  };

  const stored = await use("remember", { text: "The heron lives in the reeds behind the mill", tags: ["birds"] });
  const id = /tr_\w+/.exec(stored.text)[0];
  for (let i = 0; i < 30; i++) await use("remember", { text: `Filler ${i}: ${"long words about nothing in particular ".repeat(40)}` });

  const found = await use("search", { query: "where does the heron live" });
  assert.match(found.text, /reeds behind the mill/);
  assert.match(found.text, new RegExp(id));
  const much = await use("search", { query: "filler nothing particular", limit: 25 });
  assert.match(much.text, /more were left out/);
  assert.match((await use("search", { query: "zeppelin" })).text, /Nothing was found/);

  const list = await use("recall_timeline", {});
  const episode = /ep_\w+/.exec(list.text)[0];
  const told = await use("recall_timeline", { episode });
  assert.match(told.text, /heron/);
  const after = /after = (\d+)/.exec(told.text)[1];
  assert.doesNotMatch((await use("recall_timeline", { episode, after: Number(after) })).text, /heron/);

  assert.equal((await use("feedback", { id, verdict: "good", why: "right" })).text, "Noted.");
  const judged = await client.readResource({ uri: `memory://trace/${id}` });
  assert.match(judged.contents[0].text, /reeds/);

  // What a model gets wrong comes back as words it can act on.
  for (const [name, args, words] of [
    ["search", {}, /query is required/],
    ["search", { query: "x", limit: 1000 }, /out of range/],
    ["search", { query: "x", colour: "red" }, /no argument colour/],
    ["feedback", { id, verdict: "splendid" }, /must be one of/],
    ["forget", { id: "tr_none" }, /no trace/],
    ["recall_timeline", { episode: "ep_none" }, /no episode/],
  ]) {
    const result = await use(name, args);
    assert.ok(result.failed, `${name} ${JSON.stringify(args)}`);
    assert.match(result.text, words);
  }
  await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), (error) => error.code === -32602);

  assert.match((await use("forget", { id })).text, /Forgotten/);
  assert.doesNotMatch((await use("search", { query: "heron reeds" })).text, /reeds/);

  const { resources } = await client.listResources();
  assert.deepEqual(resources.map((one) => one.uri), ["memory://status", "memory://recent"]);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map((one) => one.uriTemplate), ["memory://trace/{id}", "memory://episode/{id}"]);
  const status = JSON.parse((await client.readResource({ uri: "memory://status" })).contents[0].text);
  assert.equal(status.phase, "ready");
  assert.match((await client.readResource({ uri: "memory://recent" })).contents[0].text, /memory:\/\/episode\/ep_/);
  assert.match((await client.readResource({ uri: `memory://episode/${episode}` })).contents[0].text, /Filler 29/);
  await assert.rejects(client.readResource({ uri: `memory://trace/${id}` }), (error) => resourceMissing.includes(error.code));
}
