// The page's side of src/core/page_sessions: who is at the other end, and that this page may talk to it. Any user of the
// machine may take the port of a server that has ended, so nothing but a nonce and a name goes out before the server has
// proven that it knows the secret of this page and listens on the port that stands in this page's address. What goes out
// then is signed. sessionStorage holds a key for this one server: with its end it is worth nothing.
const port = location.port || "80";
const fresh = 4000; // ms that a sign of the server's counts; a stream that is open gives one every two seconds
const pauses = [300, 1000, 2500]; // ms before the server is asked again, and then it is gone
const answering = 4000; // ms that the server has for its proof; whoever took its port may accept and say nothing

// Why this page can do nothing (more): "none" (it was opened without a link), "used" (the link was, or is too old), "gone"
// (the server), "stranger" (somebody else answers), "insecure" (no WebCrypto at this address).
export class Ended extends Error {
  code = "ended";
  constructor(why) {
    super(why);
    this.why = why;
  }
}

const bytes = (text) => new TextEncoder().encode(text);
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const keyOf = (text) => crypto.subtle.importKey("raw", bytes(text), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
const mac = async (key, ...parts) => hex(await crypto.subtle.sign("HMAC", key, bytes(["holdfast page 1", ...parts].join("\n"))));
const post = (path, body, headers, signal) =>
  fetch(path, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body, signal });

// The server proves itself. What comes back is good for requests, as long as it remembers it.
async function challenge(who, unknown = "gone") {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
  const response = await post("api/prove", JSON.stringify({ id: who.id, nonce }), {}, AbortSignal.timeout(answering));
  if (response.status === 503) throw new TypeError("the server is busy"); // as when it cannot be reached
  if (response.status === 401) throw new Ended(unknown);
  const { result } = await response.json().catch((error) => {
    if (error.name === "TimeoutError") throw error; // the head of an answer, and then nothing
    return {};
  });
  if (typeof result?.nonce !== "string" || result.proof !== (await mac(who.key, "server", port, who.id, nonce, result.nonce, "", "")))
    throw new Ended("stranger");
  return { ...who, mine: nonce, theirs: result.nonce, sequence: 0, seen: performance.now() };
}

// A signed request. Nothing: the server does not know (or no longer remembers) what it was signed for.
async function send(to, path, body, signal) {
  const sequence = String(++to.sequence);
  const signature = await mac(to.key, "request", port, to.id, to.theirs, sequence, `/${path}`, body);
  const response = await post(path, body, { Authorization: `Holdfast ${to.id} ${to.theirs} ${sequence} ${signature}` }, signal);
  if (response.status === 401) return null;
  if (response.headers.get("X-Holdfast-Proof") !== (await mac(to.key, "answer", port, to.id, to.theirs, sequence, "", ""))) {
    if (response.status === 503) throw new TypeError("the server is busy");
    throw new Ended("stranger");
  }
  to.seen = performance.now();
  return response;
}

async function patiently(ask) {
  for (const pause of [...pauses, 0])
    try {
      return await ask();
    } catch (error) {
      if (error.code === "ended") throw error;
      if (pause) await new Promise((again) => setTimeout(again, pause));
    }
  throw new Ended("gone");
}

// With the ticket of a link, which is good once, or with what an earlier page of this tab had.
async function begin() {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (ticket) history.replaceState(null, "", "#/"); // the address bar is seen by others
  if (!globalThis.crypto?.subtle) throw new Ended("insecure");
  if (!ticket) {
    const kept = JSON.parse(sessionStorage.getItem("session") ?? "null");
    if (!kept) throw new Ended("none");
    return { id: kept.id, key: await keyOf(kept.key) };
  }
  sessionStorage.removeItem("session");
  const [id, secret] = ticket.split(".");
  const key = await keyOf(secret ?? "");
  const open = await patiently(() => challenge({ id, key }, "used"));
  const response = await send(open, "api/login", "{}");
  if (!response) throw new Ended("used");
  const { result } = await response.json();
  const text = await mac(key, "session", port, id, open.mine, open.theirs, "", "");
  sessionStorage.setItem("session", JSON.stringify({ id: result.session, key: text }));
  return { id: result.session, key: await keyOf(text) };
}

const who = begin();
who.catch(() => {}); // told to each who asks
let over = null;
let open = null; // a promise of what challenge() gave

async function opened() {
  if (over) throw over;
  if (open && performance.now() - (await open).seen > fresh) open = null;
  open ??= who.then((me) => patiently(() => challenge(me)));
  try {
    return await open;
  } catch (error) {
    throw (over = error.code === "ended" ? error : new Ended("gone"));
  }
}

// The answer to a request of this page, from the server that it belongs to.
export async function ask(path, body, signal) {
  for (let attempt = 0; ; attempt++) {
    const to = await opened();
    try {
      const response = await send(to, path, JSON.stringify(body ?? {}), signal);
      if (response) return response;
    } catch (error) {
      if (error.name !== "AbortError") open = null;
      if (error.code === "ended") over = error;
      throw error;
    }
    open = null;
    if (attempt) throw (over = new Ended("gone"));
  }
}

// A sign of the server's came on a stream that it had answered.
export const heardOf = () => open?.then((to) => { to.seen = performance.now(); }, () => {});
// The stream has broken off: the server proves itself again before anything else is sent.
export const lost = () => { open = null; };
export const ended = () => over;
