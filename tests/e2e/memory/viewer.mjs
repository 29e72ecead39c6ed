// Everything a person does with the pages, in Chromium.   node viewer.mjs HOLDFAST HOME PROFILE [SHOTS]
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { browser, memory } from "./viewer_scene.mjs";

const [command, home, profile, shots] = process.argv.slice(2);
const { holdfast, link, start, stop } = memory(command, home);

// ── what is in the memory ──
const day = 86_400_000;
const now = Date.now();
const topics = [
  ["The staging database does not answer since this morning. Can you look?", "It moved to port 5433 with the upgrade on Tuesday; both workers answer again."],
  ["Please book the train to Lyon for the two of us", "Done: Thursday, 08:12 from Basel, two seats by the window."],
  ["What was the name of the café near the archive?", "Café Sperling. You liked the window tables."],
  ["Why did the nightly build fail?", "The runner had no space left: 41 GB of old layers. I removed those older than two weeks."],
];
const lines = [];
for (let i = 0; i < 120; i++)
  for (let turn = 0; turn < 3; turn++) {
    const [userText, agentText] = topics[(i + turn) % topics.length];
    lines.push({ type: "trace", id: `tr_${i}_${turn}`, episodeId: `ep_${i}`, sessionId: `se_${i % 5}`, ts: now - Math.floor(i / 4) * day - turn * 60_000 - (i % 4) * 3_600_000, userText, agentText });
  }
for (let i = 0; i < 75; i++) lines.push({ type: "trace", id: `tr_long_${i}`, episodeId: "ep_long", sessionId: "se_long", ts: now - 90 * day + i * 1000, userText: `Step ${i}`, agentText: "done" });
lines.push({ type: "trace", id: "tr_markup", episodeId: "ep_markup", sessionId: "se_0", ts: now - 100 * day, userText: '<img src=x onerror="window.broken=1"><script>window.broken=2</script> heronmarkup', agentText: "<b>not bold</b>",
  toolCalls: [{ name: "shell", input: { command: "ls" }, output: "</pre><script>window.broken=3</script>" }], tags: ["<i>tag</i>"] });
// What a careless client may have sent: tool calls that are none, and times that no calendar has.
lines.push({ type: "trace", id: "tr_odd", episodeId: "ep_odd", sessionId: "se_odd", ts: 9e15, userText: "An odd turn", agentText: "", toolCalls: [null, "a word", { name: "shell", input: 1 }] });
lines.push({ type: "session", id: "se_odd", agent: "g".repeat(200), openedAt: 1 });
lines.push({ type: "skill", id: "sk_bell", title: "Ringing the harbour bell", body: "Twice, then once more after a pause." });
holdfast(["import", "-", "--quiet"], lines.map((line) => JSON.stringify(line)).join("\n"));

const port = new URL(await start(0)).port;
const opened = link();
const base = opened.split("#")[0];

const context = await browser(profile);
const page = context.pages()[0] ?? (await context.newPage());
page.setDefaultTimeout(300_000);
const troubles = [];
let expectTroubles = false;
page.on("console", (message) => message.type() === "error" && !expectTroubles && troubles.push(message.text()));
page.on("pageerror", (error) => troubles.push(error.message));
page.on("request", (request) => !expectTroubles && !request.url().startsWith(base) && !request.url().startsWith("data:") && troubles.push(`asked elsewhere: ${request.url()}`));
const shot = async (name) => shots && (await page.screenshot({ path: `${shots}/${name}.png` }));
const go = async (hash, selector) => {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.waitForSelector(selector);
};
const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
const part = async (name, work) => {
  try {
    await work();
  } catch (error) {
    throw new Error(`${name}: ${error.message}\n${troubles.join("\n")}`, { cause: error });
  }
};

try {
  await part("a link opens the page and leaves the address", async () => {
    await page.goto(opened);
    await page.waitForSelector(".rows .row");
    assert.ok(!page.url().includes("ticket"), page.url());
    await page.waitForSelector(".hint:has-text('437 traces')");
    await shot("home-light");
  });

  await part("the first page is not left backwards, and its beginning can be skipped", async () => {
    await page.evaluate(() => document.getElementById("main").focus());
    await page.keyboard.press("Escape");
    await page.waitForTimeout(200);
    assert.ok(page.url().startsWith(base), page.url());
    await page.focus(".skip");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.id === "main");
    await page.waitForTimeout(100);
    assert.ok(await page.isVisible(".rows .row"));
    await page.focus("#query");
  });

  await part("search as you type", async () => {
    assert.equal(await focused(), "query");
    await page.keyboard.type("datab", { delay: 30 });
    await page.waitForSelector("mark:text-is('database')");
    await page.keyboard.type("ase port", { delay: 30 });
    await page.waitForSelector("mark:text-is('port')");
    assert.match(page.url(), /q=database%20port/);
    await shot("search-light");
    await page.fill("#query", "zzzzqq");
    await page.waitForSelector("text=Nothing was found");
  });

  await part("by keys alone", async () => {
    await page.fill("#query", "train to Lyon");
    await page.waitForSelector("mark:text-is('Lyon')");
    await page.focus("#query");
    await page.keyboard.press("ArrowDown");
    assert.match(await focused(), /Lyon/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".actions");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#query");
    assert.equal(await page.inputValue("#query"), "train to Lyon");
    await page.keyboard.press("Tab");
    await page.evaluate(() => document.getElementById("main").focus());
    await page.keyboard.press("2");
    await page.waitForSelector(".line .row");
    await page.keyboard.press("/");
    await page.waitForSelector("#query:focus");
    await page.evaluate(() => document.getElementById("main").focus());
    await page.keyboard.press("?");
    await page.waitForSelector("#keys[open]");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#keys:not([open])", { state: "attached" });
  });

  await part("who goes away while typing is not called back", async () => {
    await go("#/", "#query");
    await page.fill("#query", "archive");
    await go("#/timeline", ".line .row");
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => location.hash), "#/timeline");
  });

  await part("answers that come late change nothing any more", async () => {
    const slow = (words) => (request) => request.request().postData().includes(words) ? setTimeout(() => request.continue().catch(() => {}), 700) : request.continue();
    await go("#/timeline", ".line .row");
    const early = new Date(now - 95 * day).toISOString().slice(0, 10);
    await page.route("**/api/call", slow(`"until":${new Date(`${early}T23:59:59.999`).getTime() + 1}`));
    await page.fill("#until", early);
    await page.fill("#until", new Date(now - 80 * day).toISOString().slice(0, 10));
    await page.waitForFunction(() => document.querySelectorAll(".line .row").length === 2);
    await page.waitForTimeout(1000);
    assert.equal(await page.locator(".line .row").count(), 2);
    await page.unroute("**/api/call");
    await go("#/", "#query");
    await page.route("**/api/call", slow("nightly"));
    await page.fill("#query", "nightly build");
    await page.waitForRequest("**/api/call");
    await page.fill("#query", "archive");
    await page.waitForSelector("mark:text-is('archive')");
    await page.waitForTimeout(900);
    assert.equal(await page.locator("mark:text-is('nightly')").count(), 0);
    await page.unroute("**/api/call");
  });

  await part("what could not be asked for is asked for when it can, and what was typed stays", async () => {
    await go("#/", "#query");
    expectTroubles = true;
    await page.route("**/api/call", (request) => request.abort());
    await page.fill("#query", "archive");
    await page.waitForSelector("main :text('cannot be reached')");
    assert.equal(await page.inputValue("#query"), "archive");
    await page.unroute("**/api/call");
    await page.waitForSelector("mark:text-is('archive')");
    await page.route("**/api/call", (request) => request.abort());
    await go("#/timeline", "main :text('cannot be reached')");
    await page.unroute("**/api/call");
    await page.waitForSelector(".line .row");
    expectTroubles = false;
  });

  await part("a skill that was found can be read", async () => {
    await go("#/?q=harbour%20bell", "mark:text-is('harbour')");
    await page.click(".row:has-text('skill')");
    await page.waitForSelector("h1:text-is('Ringing the harbour bell')");
    assert.match(await page.textContent(".text"), /Twice, then once more/);
  });

  await part("the timeline, a page at a time", async () => {
    await go("#/timeline", ".line .row");
    const before = await page.locator(".line .row").count();
    assert.ok(before >= 40 && before < 123, `${before} rows at first`);
    await shot("timeline-light");
    for (let i = 0; i < 20 && (await page.locator(".line .row").count()) < 123; i++) {
      await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
      await page.waitForTimeout(150);
    }
    assert.equal(await page.locator(".line .row").count(), 123);
    const times = await page.locator(".line time").evaluateAll((all) => all.map((one) => one.dateTime).filter(Boolean));
    assert.deepEqual(times, [...times].sort().reverse());
    await page.fill("#until", new Date(now - 80 * day).toISOString().slice(0, 10));
    await page.waitForFunction(() => document.querySelectorAll(".line .row").length === 2);
  });

  await part("one episode, also a long one", async () => {
    await page.click(".line .row");
    await page.waitForSelector(".turn");
    assert.match(await page.textContent("h1"), /Step 0/);
    for (let i = 0; i < 20 && (await page.locator(".turn").count()) < 75; i++) {
      await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
      await page.waitForTimeout(150);
    }
    assert.equal(await page.locator(".turn").count(), 75);
    await shot("episode-light");
  });

  await part("a list that has ended offers no more", async () => {
    const atEnd = async (hash, selector, rows, many) => {
      await go(hash, selector);
      await page.waitForSelector("button.more", { state: "attached" });
      for (let i = 0; i < 20 && (await page.locator(rows).count()) < many; i++) {
        await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
        await page.waitForTimeout(150);
      }
      assert.equal(await page.locator("button.more").isVisible(), false, `${hash} shows a button that does nothing`);
      await page.evaluate(() => document.querySelector("button.more").click());
      await page.waitForTimeout(300);
      assert.equal(await page.locator(rows).count(), many, `${hash} grew by a click`);
    };
    await atEnd("#/episode/ep_1", ".turn", ".turn", 3);
    await atEnd("#/episode/ep_long", ".turn", ".turn", 75);
    await atEnd("#/sessions", "td a", "tbody tr", 7);
    await atEnd("#/timeline", ".line .row", ".line .row", 123);
  });

  await part("one trace in full, and what was stored stays text", async () => {
    await go("#/trace/tr_markup", ".actions");
    assert.match(await page.textContent(".said.user .text"), /<img src=x/);
    await page.click("summary:has-text('shell')");
    assert.match(await page.textContent("details[open]"), /<\/pre><script>/);
    assert.equal(await page.textContent(".tags li"), "<i>tag</i>");
    await go("#/?q=heronmarkup", "mark:text-is('heronmarkup')");
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.equal(await page.locator("main img").count(), 0);
  });

  await part("odd times and tool calls cost nobody the page", async () => {
    await go("#/trace/tr_odd", ".actions");
    assert.equal(await page.locator("summary").count(), 2);
    await go("#/episode/ep_odd", ".turn");
    await go("#/session/se_odd", ".line .row");
    await go("#/sessions", "td a[title=se_odd]");
  });

  await part("feedback", async () => {
    await go("#/trace/tr_0_0", ".actions");
    await page.click("button:text-is('Useful')");
    await page.waitForSelector("h2:text-is('Feedback')");
    await page.waitForSelector(".verdict.positive");
    await shot("trace-light");
    await go("#/feedback", ".rows .row");
    assert.match(await page.textContent(".rows .row"), /useful/);
  });

  await part("forgetting asks first", async () => {
    await go("#/trace/tr_5_0", ".actions");
    await page.click("button:text-is('Forget')");
    await page.click("#confirm button:text-is('Keep it')");
    await page.waitForSelector("#confirm:not([open])", { state: "attached" });
    assert.ok(holdfast(["export"]).includes('"tr_5_0"'));
    await page.click("button:text-is('Forget')");
    await page.click("#confirm button:text-is('Forget it')");
    await page.waitForFunction(() => location.hash.startsWith("#/episode/")); // it goes there when it is done
    await page.waitForSelector(".turn");
    assert.ok(!holdfast(["export"]).includes('"tr_5_0"'));
    await go("#/trace/tr_5_0", "text=It is not there any more");
  });

  await part("sessions", async () => {
    await go("#/sessions", "td a");
    assert.equal(await page.locator("tbody tr").count(), 7);
    await page.click("td a[title=se_2]");
    await page.waitForSelector(".line .row");
    assert.equal(await page.locator(".line .row").count(), 24);
  });

  await part("health, and the export", async () => {
    await go("#/health", ".figures");
    assert.match(await page.textContent("h1"), /is ready/);
    await page.waitForSelector(".figures dd:text-is('436')"); // one was forgotten; the figures follow by themselves
    await shot("health-light");
    // The figures move, and what somebody is about to press stays the thing it was.
    await page.evaluate(() => { document.getElementById("export").mine = true; });
    const process = await page.textContent(".facts dd:nth-of-type(3)");
    await page.waitForFunction((was) => document.querySelector(".facts dd:nth-of-type(3)").textContent !== was, process);
    assert.ok(await page.evaluate(() => document.getElementById("export").mine));
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
    assert.equal(download.suggestedFilename(), "holdfast-memory.jsonl");
    assert.equal(readFileSync(await download.path(), "utf8"), holdfast(["export"]));
  });

  await part("light and dark", async () => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await ground();
    assert.notEqual(light, dark);
    for (const [hash, selector, name] of [["#/", ".rows", "home"], ["#/?q=train", "mark", "search"], ["#/timeline", ".line .row", "timeline"], ["#/trace/tr_0_0", ".actions", "trace"], ["#/health", ".figures", "health"]]) {
      await go(hash, selector);
      await shot(`${name}-dark`);
    }
    await page.click("#theme");
    assert.equal(await ground(), light); // light, although the system is dark
    await page.reload();
    await page.waitForSelector(".figures");
    assert.equal(await ground(), light);
    await page.click("#theme");
    await page.click("#theme");
    assert.equal(await ground(), dark); // as the system has it again
    await page.emulateMedia({ colorScheme: "light" });
  });

  await part("narrow", async () => {
    await page.setViewportSize({ width: 380, height: 760 });
    for (const [hash, selector, name] of [["#/?q=database", "mark", "search"], ["#/timeline", ".line .row", "timeline"], ["#/episode/ep_1", ".turn", "episode"], ["#/trace/tr_markup", ".actions", "trace"], ["#/sessions", "td a", "sessions"], ["#/health", ".figures", "health"]]) {
      await go(hash, selector);
      const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth);
      assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
      await shot(`${name}-narrow`);
    }
    await page.setViewportSize({ width: 1200, height: 860 });
  });

  await part("every control has a name, and every page a heading or a search box", async () => {
    for (const hash of ["#/", "#/timeline", "#/sessions", "#/feedback", "#/health", "#/trace/tr_0_0"]) {
      await go(hash, "main > *");
      const nameless = await page.evaluate(() => [...document.querySelectorAll("button, a, input")].filter((one) =>
        !(one.textContent.trim() || one.getAttribute("aria-label") || one.title || one.labels?.length)).map((one) => one.outerHTML));
      assert.deepEqual(nameless, []);
    }
  });

  await part("a page that is loaded again goes on", async () => {
    await page.reload();
    await go("#/", ".rows .row");
    const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie]));
    assert.ok(!kept.includes(opened.split(".").pop()), kept);
  });

  expectTroubles = true; // the browser says of every failed request that it failed
  await part("without a link, or with one that was used, there is nothing to see", async () => {
    const other = await context.newPage();
    await other.goto(`${base}#/timeline`);
    await other.waitForSelector("text=This page is opened with a link");
    await other.goto("about:blank");
    await other.goto(opened);
    await other.waitForSelector("text=This link was used before");
    assert.ok(!other.url().includes("ticket"), other.url());
    await other.goto("about:blank");
    await other.goto(`${base}#ticket=${"0".repeat(32)}.${"0".repeat(32)}`);
    await other.waitForSelector("text=This link was used before");
    // By other names of the loopback address, too.
    await other.goto(link().replace(/m[0-9a-f]+\.localhost/, "127.0.0.1"));
    await other.waitForSelector(".rows .row");
    await other.close();
  });

  await part("an owner that ends, and the next one", async () => {
    await page.fill("#query", "archive");
    await page.waitForSelector("mark:text-is('archive')");
    await stop();
    await page.waitForSelector("#notice.over:has-text('holdfast memory open')");
    assert.ok(await page.isVisible("mark:text-is('archive')"), "what somebody may be reading stays");
    await shot("ended-light");
    await page.evaluate(() => { location.hash = "#/timeline"; });
    await page.waitForSelector("main :text('has ended')");
    await shot("ended-page-light");
    await start(port);
    await page.reload();
    await page.waitForSelector("text=holdfast memory open"); // the address of that owner is nobody's now
    await shot("ended-reloaded-light");
    await page.goto(link());
    await page.waitForSelector(".rows .row");
    await page.fill("#query", "archive");
    await page.waitForSelector("mark:text-is('archive')");
  });
  assert.deepEqual(troubles, []);
} finally {
  await context.close();
  await stop();
}
console.log("passed");
