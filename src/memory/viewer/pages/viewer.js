// The pages. Each is a function that fills <main> for an address after the '#'; lists come a page at a time.
import { ended } from "./session.js";
import { call, download, listen, unreachable } from "./talk.js";
import { clockOf, count, dayOf, empty, firstLine, make, marked, number, renew, size, span, time, words } from "./parts.js";

const main = document.getElementById("main");
const notice = document.getElementById("notice");
const say = (text) => { document.getElementById("said").textContent = text; };
let health = null;
let onHealth = null; // the page that shows it, while it does
let leave = new AbortController(); // what a page started ends when it is left
let again = null; // what could not be asked for, to be asked for when the owner can be reached
let place = -1; // in the history of these pages

const link = (kind, id) => `#/${kind}/${encodeURIComponent(id)}`;
const show = (...parts) => main.replaceChildren(...parts.flat().filter(Boolean));

// Appends pages of a list to `into` until there are no more: with a button, pressed by itself when it comes into view.
async function pages(load, add, into, signal = leave.signal) {
  const button = make("button.more", { type: "button" }, "More");
  let next = null;
  let ended = false;
  const step = async () => {
    if (ended) return false; // without a place to go on from the list would begin again
    button.disabled = true;
    const got = await load(next ? { before: next } : {}, signal);
    if (signal.aborted) return false;
    add(got);
    next = got.next;
    ended = !next;
    button.disabled = false;
    button.hidden = ended;
    return true;
  };
  if (!(await step())) return;
  into.append(button);
  const more = () => step().catch((error) => {
    if (!unreachable(error)) return trouble(error);
    button.disabled = false; // what is there already stays
    again = more;
  });
  button.addEventListener("click", more);
  const eye = new IntersectionObserver((seen) => {
    if (seen[0].isIntersecting && next && !button.disabled) more();
  }, { rootMargin: "600px" });
  eye.observe(button);
  signal.addEventListener("abort", () => eye.disconnect());
}

// In the place of what could not be shown. `retry` is for when the owner is there again.
function trouble(error, retry = route, into = main) {
  if (error.name === "AbortError") return;
  if (error.code === "ended") return into.replaceChildren(ending(error));
  if (unreachable(error)) {
    again = retry;
    return into.replaceChildren(empty("The memory cannot be reached.", "This page goes on by itself when it can."));
  }
  if (error.code?.endsWith("not_found")) return show(empty("It is not there any more.", error.message));
  show(empty("That did not work.", error.message));
}

// Why this page shows nothing (more), and the way out.
const again_with = "To open the memory again: holdfast memory open";
const endings = {
  none: ["This page is opened with a link.", "To get one: holdfast memory open"],
  used: ["This link was used before, or it is too old.", "To get another one: holdfast memory open"],
  gone: ["The memory behind this page has ended.", `This page sends nothing more. ${again_with}`],
  stranger: ["Another program answers at this address.", `It could not prove that it is the memory, so this page sends nothing more. Close it. ${again_with}`],
  insecure: ["The browser has no cryptography for pages at this address.", "Use the link as it was printed, or localhost or 127.0.0.1 in place of its host name."],
};
const ending = (error) => empty(...endings[error.why]);

// ── search ──
function searchPage(_, query) {
  const input = make("input", {
    type: "search", id: "query", placeholder: "What do you want to remember?", "aria-label": "Search the memory",
    autocomplete: "off", spellcheck: "false", enterkeyhint: "search",
  });
  input.value = query.get("q") ?? "";
  const counted = make("span");
  const results = make("div");
  show(make("div.search", input, make("div.hint", counted, make("span", "Keys: ", make("kbd", "?")))), results);
  const { signal } = leave;
  let asking = null;
  const search = async () => {
    asking?.abort();
    const mine = (asking = new AbortController());
    signal.addEventListener("abort", () => mine.abort());
    const words = input.value.trim();
    history.replaceState(history.state, "", words ? `#/?q=${encodeURIComponent(words)}` : "#/");
    if (!words) {
      counted.textContent = health?.counts ? `${count(health.counts.traces, "trace")} in ${count(health.counts.episodes, "episode")}` : "";
      results.replaceChildren();
      return latest(results, mine.signal);
    }
    const began = performance.now();
    // Ranked by meaning of the whole words; and, while the last one is still being typed, what begins like it.
    const typing = words.match(/[\p{L}\p{N}]{3,}$/u)?.[0];
    const [ranked, begun] = await Promise.all([
      call("memory.search", { query: words, topK: 30 }, mine.signal),
      typing ? call("memory.list_traces", { q: typing, limit: 15 }, mine.signal) : { traces: [] },
    ]);
    if (mine.signal.aborted) return;
    const hits = ranked.hits.map((hit) => ({ kind: hit.refKind, id: hit.refId, text: hit.snippet, ts: hit.ts }));
    const there = new Set(hits.map((hit) => hit.id));
    for (const trace of begun.traces)
      if (!there.has(trace.id)) hits.push({ kind: "trace", id: trace.id, text: `${trace.userText}\n${trace.agentText}`.trim().slice(0, 400), ts: trace.ts });
    const took = Math.max(1, Math.round(performance.now() - began));
    counted.textContent = hits.length ? `${count(hits.length, "hit")} in ${took} ms${ranked.cut ? ", still indexing" : ""}` : "";
    say(count(hits.length, "hit"));
    results.replaceChildren(hits.length
      ? make("ul.rows", hits.map((hit) => make("li", make("a.row", { href: link(hit.kind, hit.id) },
          marked(hit.text, words), make("div.meta", time(hit.ts), hit.kind !== "trace" && make("span", hit.kind), make("span.id.wide", hit.id))))))
      : empty("Nothing was found.", "Other words, or fewer, may help."));
  };
  // What is typed stays, whatever happens to the answer.
  const run = () => search().catch((error) => trouble(error, run, results));
  let pause = 0;
  input.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(run, 110);
  });
  signal.addEventListener("abort", () => clearTimeout(pause));
  onHealth = () => {
    if (health?.counts && !counted.textContent && !input.value.trim()) run();
  };
  input.focus({ preventScroll: true });
  input.setSelectionRange(input.value.length, input.value.length);
  return run();
}

async function latest(into, signal) {
  const { episodes } = await call("memory.episodes", { limit: 12 }, signal);
  if (signal.aborted) return;
  into.replaceChildren(...(episodes.length
    ? [make("h2", "Latest"), make("ul.rows", episodes.map((episode) => make("li", make("a.row", { href: link("episode", episode.id) },
        make("p", { dir: "auto" }, firstLine(episode.title ?? "") || "(no turns)"),
        make("div.meta", time(episode.openedAt), make("span", count(episode.turns, "turn")), make("span", episode.agent))))))]
    : [empty("There is nothing here yet.", "Agents fill it as they work; holdfast memory add “…” stores a note.")]));
}

// ── timeline ──
async function timelinePage(session) {
  const from = make("input", { type: "date", id: "until" });
  const list = make("div");
  show(session && make("p.crumbs", make("a", { href: "#/sessions" }, "Sessions"), " / ", session),
    make("div.head", make("h1", session ? "Session" : "Timeline"), make("label", { for: "until" }, "Up to ", from)), list);
  const { signal } = leave;
  let filling = null;
  const fill = () => {
    filling?.abort(); // an answer for another day that is still on its way must not get into this list
    const mine = (filling = new AbortController());
    signal.addEventListener("abort", () => mine.abort());
    list.replaceChildren();
    let last = null;
    let line = null;
    const until = from.value ? new Date(`${from.value}T23:59:59.999`).getTime() + 1 : null;
    return pages(
      (place, signal) => call("memory.episodes", { limit: 40, ...(session && { sessionId: session }), ...(until && { until }), ...place }, signal),
      ({ episodes }) => {
        for (const episode of episodes) {
          const heading = dayOf(episode.openedAt);
          if (heading !== last) {
            line = make("ol.line", { "aria-label": heading });
            const parts = [make("h2.day", heading), line];
            const button = list.querySelector(".more");
            button ? button.before(...parts) : list.append(...parts);
            last = heading;
          }
          line.append(make("li", make("a.row", { href: link("episode", episode.id) }, time(episode.openedAt, clockOf),
            make("div", make("p", { dir: "auto" }, firstLine(episode.title ?? "") || "(no turns)"),
              make("div.meta", make("span", count(episode.turns, "turn")), make("span", episode.agent),
                episode.lastTs && episode.lastTs - episode.openedAt > 60000 && make("span.wide", `over ${span(episode.lastTs - episode.openedAt)}`))))));
        }
        if (!last) list.append(empty(until ? "Nothing up to that day." : "There are no episodes yet."));
      }, list, mine.signal);
  };
  const refill = () => fill().catch((error) => trouble(error, refill, list));
  from.addEventListener("change", refill);
  return fill();
}

// ── one episode ──
async function episodePage(id) {
  const turns = make("div");
  const heading = make("h1", { dir: "auto" }, "Episode");
  const meta = make("div.meta");
  show(make("p.crumbs", make("a", { href: "#/timeline" }, "Timeline"), " / episode"), heading, meta, turns);
  let first = true;
  return pages(
    (place, signal) => call("memory.timeline", { episodeId: id, limit: 30, ...(place.before && { after: place.before }) }, signal),
    ({ traces }) => {
      const button = turns.querySelector(".more");
      for (const trace of traces) {
        const turn = make("article.turn", said(trace, 1800),
          make("div.meta", make("a", { href: link("trace", trace.id) }, time(trace.ts)), toolNote(trace), verdictOf(trace)));
        button ? button.before(turn) : turns.append(turn);
      }
      if (!first) return;
      first = false;
      if (!traces.length) return turns.append(empty("This episode has no turns."));
      heading.textContent = firstLine(traces[0].summary || traces[0].userText || traces[0].agentText || "Episode").slice(0, 200);
      meta.append(time(traces[0].ts), make("a", { href: link("session", traces[0].sessionId) }, traces[0].sessionId), make("span.id.wide", id));
    }, turns);
}

function said(trace, most) {
  const one = (who, name, text) => {
    if (!text) return null;
    const long = text.length > most;
    return make(`div.said.${who}`, make("b", name), make("p.text", { dir: "auto" }, long ? `${text.slice(0, most)} …` : text),
      long && make("a", { href: link("trace", trace.id) }, "Read all of it"));
  };
  return [one("user", trace.kind === "note" ? "Note" : trace.kind === "subagent" ? "Task" : "User", trace.userText),
    one("agent", trace.kind === "subagent" ? "Result" : "Agent", trace.agentText)];
}

// As the client sent them: what is no object is shown as what was put in.
const toolCalls = (trace) => (Array.isArray(trace.toolCalls) ? trace.toolCalls : [trace.toolCalls])
  .filter((tool) => tool !== null && tool !== undefined)
  .map((tool) => (typeof tool === "object" ? tool : { input: tool }));

function toolNote(trace) {
  const calls = toolCalls(trace);
  return calls.length ? make("span", count(calls.length, "tool call")) : null;
}

function verdictOf(trace) {
  if (!trace.value) return null;
  return make(`span.verdict.${trace.value > 0 ? "positive" : "negative"}`, trace.value > 0 ? "useful" : "not useful");
}

// ── one trace in full ──
async function tracePage(id) {
  const trace = await call("memory.get_trace", { id }, leave.signal);
  if (leave.signal.aborted) return;
  if (!trace) return show(empty("It is not there any more.", id));
  const judge = (polarity, text) => make("button", {
    type: "button",
    onclick: async () => {
      try {
        await call("feedback.submit", { traceId: id, channel: "explicit", polarity, magnitude: 1 });
        say("Noted.");
        await tracePage(id);
        main.querySelector(".actions button")?.focus();
      } catch (error) { trouble(error); }
    },
  }, text);
  show(
    make("p.crumbs", make("a", { href: "#/timeline" }, "Timeline"), " / ", make("a", { href: link("episode", trace.episodeId) }, "episode"), " / trace"),
    make("h1", { dir: "auto" }, firstLine(trace.summary || trace.userText || trace.agentText || "Trace").slice(0, 200)),
    make("div.meta", time(trace.ts), make("a", { href: link("session", trace.sessionId) }, trace.sessionId), verdictOf(trace), make("span.id", id)),
    trace.tags?.length ? make("ul.tags", { "aria-label": "Tags" }, trace.tags.map((tag) => make("li", words(tag)))) : null,
    make("article.turn", said(trace, Infinity),
      trace.agentThinking && make("details", make("summary", "Thinking"), make("p.text", trace.agentThinking)),
      toolCalls(trace).map((tool) => make("details", make("summary", words(tool.name || "tool"), tool.errorCode && make("span.soft", `failed: ${words(tool.errorCode)}`)),
        make("pre", words(tool.input ?? "")), tool.output !== undefined && tool.output !== null && make("pre", words(tool.output)))),
      trace.reflection && make("details", make("summary", "Reflection"), make("p.text", words(trace.reflection))),
      trace.meta && Object.keys(trace.meta).length > 0 && make("details", make("summary", "More"), make("pre", words(trace.meta)))),
    make("div.actions", judge("positive", "Useful"), judge("negative", "Not useful"), make("button.danger", { type: "button", onclick: () => forget(id, trace.episodeId) }, "Forget")),
    trace.feedback?.length ? [make("h2", "Feedback"), make("ul.rows", trace.feedback.map((one) => make("li", make("div.row", feedbackLine(one)))))] : null);
}

// ── a skill, a policy, a world model ──
const objects = { skill: ["Skill", "skill.get"], policy: ["Policy", "memory.get_policy"], "world-model": ["World model", "memory.get_world"] };

const objectPage = (kind) => async (id) => {
  const [name, method] = objects[kind];
  const object = await call(method, { id }, leave.signal);
  if (!object) return show(empty("It is not there any more.", id));
  show(make("p.crumbs", name), make("h1", { dir: "auto" }, object.title || name),
    make("div.meta", time(object.updatedAt), make("span", object.status), make("span.id", id)),
    make("article.turn", make("p.text", { dir: "auto" }, object.body)));
};

function feedbackLine(one) {
  const words = { positive: "useful", negative: "not useful", neutral: "neutral" };
  return make("div.meta", make(`span.verdict.${one.polarity}`, words[one.polarity] ?? one.polarity), time(one.ts),
    make("span", one.channel), one.rationale && make("span", one.rationale));
}

function forget(id, episode) {
  const dialog = document.getElementById("confirm");
  dialog.returnValue = "no";
  dialog.showModal();
  dialog.addEventListener("close", async () => {
    if (dialog.returnValue !== "yes") return;
    try {
      await call("memory.forget", { id });
      say("Forgotten.");
      location.hash = link("episode", episode);
    } catch (error) { trouble(error); }
  }, { once: true });
}

// ── sessions, feedback ──
async function sessionsPage() {
  const body = make("tbody");
  const list = make("div", make("table", make("thead", make("tr", make("th", "Agent"), make("th", "Opened"), make("th.wide", "Last turn"), make("th.n.wide", "Episodes"), make("th.n", "Turns"))), body));
  show(make("h1", "Sessions"), list);
  return pages((place, signal) => call("memory.sessions", { limit: 50, ...place }, signal), ({ sessions }) => {
    for (const session of sessions)
      body.append(make("tr", make("td", make("a", { href: link("session", session.id), title: session.id }, session.agent)), make("td", time(session.openedAt)),
        make("td.wide", session.lastTs ? time(session.lastTs) : "–"), make("td.n.wide", number(session.episodes)), make("td.n", number(session.turns))));
    if (!body.children.length) list.replaceChildren(empty("There are no sessions yet."));
  }, list);
}

async function feedbackPage() {
  const rows = make("ul.rows");
  const list = make("div", rows);
  show(make("h1", "Feedback"), list);
  return pages((place, signal) => call("memory.feedback", { limit: 50, ...place }, signal), ({ feedback }) => {
    for (const one of feedback)
      rows.append(make("li", make(one.traceId ? "a.row" : "div.row", one.traceId && { href: link("trace", one.traceId) },
        make("p", firstLine(one.summary ?? "") || "(it was forgotten)"), feedbackLine(one))));
    if (!rows.children.length) list.replaceChildren(empty("Nobody has judged anything yet.", "“Useful” and “Not useful” are on every trace."));
  }, list);
}

// ── health ──
function healthPage() {
  const draw = () => {
    if (!health) return page(make("h1", "Health"), ended() ? ending(ended()) : empty("The memory cannot be reached.", "This page goes on by itself when it can."));
    const phases = { opening: "is being opened", recovering: "reads its log", migrating: "is brought to this version", indexing: "builds its index", ready: "is ready", failed: "could not be opened" };
    const counts = health.counts ?? {};
    const figure = (name, value) => make("div", make("dt", name), make("dd", value));
    page(make("h1", `The memory ${phases[health.phase] ?? health.phase}`),
      health.progress?.total ? [make("progress", { max: health.progress.total, value: health.progress.done, "aria-label": health.phase }), make("p.meta", health.progress.detail)] : null,
      health.error && make("p.warning", health.error),
      (health.warnings ?? []).map((warning) => make("p.warning", warning.message, " ", make("code", warning.keptAs ?? ""))),
      health.counts && make("dl.figures", figure("Traces", number(counts.traces)), figure("Episodes", number(counts.episodes)), figure("Sessions", number(counts.sessions)),
        figure("Feedback", number(counts.feedback)), figure("Size", size(health.dbBytes ?? 0)), figure("Log", size(health.walBytes ?? 0))),
      make("dl.facts", make("dt", "Phase"), make("dd", health.phase), make("dt", "Home"), make("dd", make("code", health.paths.home)),
        make("dt", "Process"), make("dd", `${health.pid}, for ${span(health.uptimeMs)}`), make("dt", "Agent"), make("dd", health.agent),
        make("dt", "Version"), make("dd", health.version)),
      make("div.actions", make("button", { type: "button", id: "export", onclick: () => download().catch(trouble) }, "Export everything as JSON lines")));
  };
  // Not under somebody's fingers: only the numbers change while the page is in use.
  const page = (...parts) => {
    const wanted = parts.flat().filter(Boolean);
    if (wanted.length !== main.children.length) return show(wanted);
    [...main.children].forEach((child, at) => renew(child, wanted[at]));
  };
  show();
  draw();
  onHealth = draw;
}

// ── addresses ──
const routes = [
  [/^\/?$/, searchPage, "search", "Search"],
  [/^\/timeline$/, () => timelinePage(null), "timeline", "Timeline"],
  [/^\/episode\/(.+)$/, episodePage, "timeline", "Episode"],
  [/^\/trace\/(.+)$/, tracePage, "timeline", "Trace"],
  [/^\/skill\/(.+)$/, objectPage("skill"), "search", "Skill"],
  [/^\/policy\/(.+)$/, objectPage("policy"), "search", "Policy"],
  [/^\/world-model\/(.+)$/, objectPage("world-model"), "search", "World model"],
  [/^\/sessions$/, sessionsPage, "sessions", "Sessions"],
  [/^\/session\/(.+)$/, timelinePage, "sessions", "Session"],
  [/^\/feedback$/, feedbackPage, "feedback", "Feedback"],
  [/^\/health$/, healthPage, "health", "Health"],
];

async function route() {
  leave.abort();
  leave = new AbortController();
  onHealth = again = null;
  if (history.state?.place === undefined) history.replaceState({ place: place + 1 }, "");
  place = history.state.place;
  if (ended()) return show(ending(ended()));
  const [path, query] = location.hash.slice(1).split("?");
  const found = routes.find(([pattern]) => pattern.test(path));
  if (!found) return show(empty("There is no such page."));
  const [pattern, page, name, title] = found;
  document.title = `${title} · Memory`;
  for (const item of document.querySelectorAll(".bar nav a"))
    item.dataset.page === name ? item.setAttribute("aria-current", "page") : item.removeAttribute("aria-current");
  window.scrollTo(0, 0);
  try {
    await page(...pattern.exec(path).slice(1).map(decodeURIComponent), ...(page === searchPage ? [null] : []), new URLSearchParams(query));
  } catch (error) { trouble(error); }
  if (document.activeElement === document.body) main.focus({ preventScroll: true }); // not where nothing is any more
}

// ── theme ──
const themes = ["system", "light", "dark"];
const themeButton = document.getElementById("theme");
function setTheme(theme) {
  theme === "system" ? localStorage.removeItem("theme") : localStorage.setItem("theme", theme);
  theme === "system" ? delete document.documentElement.dataset.theme : (document.documentElement.dataset.theme = theme);
  themeButton.textContent = { system: "◐ Auto", light: "○ Light", dark: "● Dark" }[theme];
  themeButton.setAttribute("aria-label", `Theme: ${theme}`);
}
const theme = () => localStorage.getItem("theme") ?? "system";
themeButton.addEventListener("click", () => setTheme(themes[(themes.indexOf(theme()) + 1) % themes.length]));
setTheme(theme());

// ── keys ──
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = event.target.matches("input, textarea, select");
  const rows = [...main.querySelectorAll("a.row, td a")];
  const at = rows.indexOf(document.activeElement);
  const go = (row) => { row?.focus(); event.preventDefault(); };
  if (event.key === "ArrowDown" && (!typing || event.target.type === "search")) go(rows[at + 1] ?? rows[at]);
  else if (event.key === "ArrowUp" && at >= 0) go(at > 0 ? rows[at - 1] : document.getElementById("query") ?? rows[0]);
  else if (event.key === "Escape" && !typing) place > 0 && history.back();
  else if (typing) return;
  else if (event.key === "/") {
    event.preventDefault();
    const box = document.getElementById("query");
    box ? box.select() : (location.hash = "#/");
  } else if (event.key === "?") document.getElementById("keys").showModal();
  else if (/^[1-5]$/.test(event.key)) location.hash = document.querySelectorAll(".bar nav a")[event.key - 1].hash;
});

// ── alive ──
function heard(news, error) {
  health = news;
  const dot = document.getElementById("dot");
  dot.className = `dot ${!news || news.phase === "failed" ? "bad" : news.phase === "ready" ? "good" : "wait"}`;
  dot.parentElement.title = news ? news.phase : "not reachable";
  notice.hidden = Boolean(news && (news.phase === "ready" || location.hash === "#/health"));
  const progress = news?.progress?.total ? ` (${Math.floor((100 * news.progress.done) / news.progress.total)} %)` : "";
  notice.classList.toggle("over", Boolean(error));
  if (error && !["gone", "stranger"].includes(error.why)) notice.hidden = true; // the page says it, and has nothing else to show
  if (error && !main.querySelector(".row, .turn, .figures, table")) trouble(error); // what somebody may be reading stays
  const text = error ? endings[error.why].join(" ") : news ? `The memory is not ready yet: ${news.phase}${progress}` : "The memory cannot be reached at the moment. This page goes on by itself when it can.";
  if (!notice.hidden && notice.textContent !== text) notice.textContent = text;
  if (onHealth) onHealth();
  if (news && again) {
    const retry = again;
    again = null;
    retry();
  }
}

// Its address would be one of our pages, and there is none of that name.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

addEventListener("hashchange", () => {
  if (location.hash.includes("ticket=")) location.reload();
  else route();
});
route();
listen(heard);
