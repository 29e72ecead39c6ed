"""The requests that bring one waiting item into the store, as a conversation with it: each step yields what to ask and is sent
the answer. Whatever was done before may be done again: a turn is known by its session, episode, time and text, a session and
an episode by their ids, and feedback is looked for before it is sent."""

from __future__ import annotations

from typing import Any, Dict, Generator, List, NamedTuple, Set, Tuple

PAGE = 8  # traces; each may be large
NOTE = {"holdfast": "note"}  # in the hints of what the host noted, which is no turn that could be judged
Opened = Set[Tuple[str, str]]  # sessions and episodes that are known to the generation in use


class Ask(NamedTuple):
    method: str
    params: "Dict[str, Any]"
    pinned: bool = False  # to the generation that the session was opened on
    idempotent: bool = True


Steps = Generator[Ask, Any, None]


class Dropped(Exception):
    """There is nothing that it could be about."""


def opening(session: "Dict[str, Any]") -> "Dict[str, Any]":
    """The words for session.open, of a session as an item has it."""
    words = {"agent": session["agent"], "sessionId": session["id"], "namespace": session["namespace"]}
    if session.get("meta"):
        words["meta"] = session["meta"]
    return words


def steps(body: "Dict[str, Any]", opened: Opened) -> Steps:
    kind, session = str(body["kind"]), body["session"]
    params = {**body["params"], "ts": body["ts"]}
    if kind == "close":
        yield Ask("session.close", {"sessionId": session["id"]})
    elif kind == "feedback":
        yield from _judge(body, params)
    elif kind == "forget":
        yield from _forget(session, str(params["text"]))
    else:
        name, episode = str(session["id"]), str(params.get("episodeId") or "")
        if (name, "") not in opened:
            yield Ask("session.open", opening(session))
            opened.add((name, ""))
        if (name, episode) not in opened:
            yield Ask("episode.open", {"sessionId": name, "episodeId": episode}, pinned=True)
            opened.add((name, episode))
        yield Ask("subagent.record" if kind == "subagent" else "turn.end", params, pinned=True)


def _judge(body: "Dict[str, Any]", params: "Dict[str, Any]") -> Steps:
    trace = yield from _judged(str(body["session"]["id"]), body.get("about"), int(params["ts"]))
    if not trace:
        raise Dropped("feedback on a turn that was never stored was dropped")
    whole = yield Ask("memory.get_trace", {"id": trace})
    known: "List[Dict[str, Any]]" = (whole or {}).get("feedback") or []
    # It has no identity in the store but its time.
    if not any(one.get("ts") == params["ts"] for one in known):
        yield Ask("feedback.submit", {**params, "traceId": trace}, idempotent=False)


def _judged(session: str, about: "Any", ts: int) -> "Generator[Ask, Any, str]":
    """The id of the turn with the time `about`; without one, of the last that was said in the session before `ts`."""
    offset = 0
    while True:
        found = yield Ask("memory.list_traces", {"sessionId": session, "limit": PAGE, "offset": offset})
        traces: "List[Dict[str, Any]]" = (found or {}).get("traces") or []
        for one in traces:  # the newest first
            said = int(one.get("ts") or 0)
            turn = one.get("kind") == "turn" and one.get("meta") != NOTE
            if turn and (said == about if about else said < ts):
                return str(one.get("id") or "")
            if about and said < about:
                return ""
        if len(traces) < PAGE:
            return ""
        offset += len(traces)


def _forget(session: "Dict[str, Any]", text: str) -> Steps:
    """What the host had noted, and takes back."""
    found = yield Ask("memory.search", {"query": text, "namespace": session["namespace"], "topK": 50})
    for hit in (found or {}).get("hits") or []:
        if hit.get("refKind") != "trace":
            continue
        trace = (yield Ask("memory.get_trace", {"id": hit.get("refId")})) or {}
        if trace.get("meta") == NOTE and text in str(trace.get("agentText")):
            yield Ask("memory.forget", {"id": trace["id"]})
