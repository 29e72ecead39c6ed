// Talking to the owner of the memory: one call, a stream of its health, and a download.
const params = new URLSearchParams(location.hash.slice(1));
if (params.has("token")) {
  sessionStorage.setItem("token", params.get("token"));
  history.replaceState(null, "", "#/"); // the address bar is seen by others
}

export const hasToken = () => Boolean(sessionStorage.getItem("token"));

export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function post(path, body, signal) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${sessionStorage.getItem("token") ?? ""}` },
    body: JSON.stringify(body ?? {}),
    signal,
  });
  if (response.status === 401) throw new Refused("token", "The token is missing or no longer right.");
  return response;
}

export async function call(method, parameters, signal) {
  const answer = await (await post("api/call", { method, params: parameters ?? {} }, signal)).json();
  if (answer.error) throw new Refused(answer.error.code, answer.error.message);
  return answer.result;
}

// Whether the owner could not be asked at all, as opposed to what it said no to.
export const unreachable = (error) => !error.code && error.name !== "AbortError";

// Calls `heard` with each health, and with null when the owner cannot be reached; goes on for ever.
export async function listen(heard) {
  for (;;) {
    try {
      const reader = (await post("api/live")).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line) heard(JSON.parse(line));
      }
    } catch (trouble) {
      if (trouble.code === "token") return heard(null, trouble);
    }
    heard(null);
    await new Promise((again) => setTimeout(again, 1500));
  }
}

export async function download() {
  const { result } = await (await post("api/ticket")).json();
  location.assign(`export/${result.ticket}`);
}
