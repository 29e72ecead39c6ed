// Talking to the owner of the memory: one call, a stream of its health, and a download.
import { ask, heardOf, lost } from "./session.js";

export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export async function call(method, parameters, signal) {
  const answer = await (await ask("api/call", { method, params: parameters ?? {} }, signal)).json();
  if (answer.error) throw new Refused(answer.error.code, answer.error.message);
  return answer.result;
}

// Whether the owner could not be asked at all, as opposed to what it said no to.
export const unreachable = (error) => !error.code && error.name !== "AbortError";

// Calls `heard` with each health, and with null when the owner cannot be reached; with null and the reason when it is gone
// for good, and then no more.
export async function listen(heard) {
  for (;;) {
    try {
      const reader = (await ask("api/live")).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        heardOf();
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line) heard(JSON.parse(line));
      }
    } catch (trouble) {
      if (trouble.code === "ended") return heard(null, trouble);
    }
    lost();
    heard(null);
    await new Promise((again) => setTimeout(again, 200));
  }
}

export async function download() {
  const { result } = await (await ask("api/export")).json();
  location.assign(`export/${result.download}`);
}
