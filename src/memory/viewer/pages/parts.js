// Small pieces of page: elements, times, numbers, marked words.

// make("p.meta", {title: "x"}, "text", element…): text stays text, so nothing that was stored can become markup.
export function make(what, ...rest) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const part of rest.flat()) {
    if (part === null || part === undefined || part === false) continue;
    if (typeof part === "object" && !(part instanceof Node)) {
      for (const [name, value] of Object.entries(part))
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    } else element.append(part);
  }
  return element;
}

const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
// A client may have sent any number for a time. What no calendar has is shown as it is, and must not cost the page.
const isTime = (ms) => typeof ms === "number" && Math.abs(ms) <= 8.64e15;
const written = (format) => (ms) => (isTime(ms) ? format.format(ms) : String(ms));
export const dayOf = written(day);
export const clockOf = written(clock);
const fullOf = written(full);

export function time(ms, show = fullOf) {
  return make("time", isTime(ms) && { datetime: new Date(ms).toISOString(), title: fullOf(ms) }, show(ms));
}

export const number = (value) => new Intl.NumberFormat().format(value);

export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function size(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; unit++) bytes /= 1000;
  return `${bytes.toFixed(unit && bytes < 100 ? 1 : 0)} ${units[unit]}`;
}

export function span(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const hours = Math.floor(seconds / 3600);
  return hours < 48 ? `${hours} h ${Math.floor((seconds % 3600) / 60)} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// The text with the words of the query marked, also where a word of the text goes on.
export function marked(text, query) {
  const all = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])];
  const telling = all.filter((word) => word.length > 3 || /\p{N}|[^\x00-\x7f]/u.test(word)); // not "the" and "did", unless there is nothing else
  const words = (telling.length ? telling : all)
    .map((word) => (word.length > 4 ? word.slice(0, -1) : word)) // endings differ: "moved" in "moving"
    .sort((a, b) => b.length - a.length);
  const out = make("p", { dir: "auto" });
  if (!words.length) {
    out.append(text);
    return out;
  }
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join("|")})[\\p{L}\\p{N}_]*`, "giu");
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    out.append(text.slice(at, found.index), make("mark", found[0]));
    at = found.index + found[0].length;
  }
  out.append(text.slice(at));
  return out;
}

export const firstLine = (text) => text.trim().split("\n", 1)[0];
// What a client put where words should be: words as they are, anything else as its JSON.
export const words = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

// Brings what is shown to what it should be by changing only what differs: somebody may be reading, marking or about
// to press what stays the same.
export function renew(shown, wanted) {
  if (shown.isEqualNode(wanted)) return;
  if (shown.nodeName !== wanted.nodeName || shown.nodeType !== Node.ELEMENT_NODE || shown.childNodes.length !== wanted.childNodes.length) return shown.replaceWith(wanted);
  for (const { name } of [...shown.attributes]) if (!wanted.hasAttribute(name)) shown.removeAttribute(name);
  for (const { name, value } of wanted.attributes) if (shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  const fresh = [...wanted.childNodes];
  [...shown.childNodes].forEach((child, at) => renew(child, fresh[at]));
}

export const empty = (text, more) => make("p.empty", text, more && make("small", more));
