"""The requests that bring one waiting item into the store, as a conversation with it: each step yields what to ask and is sent
the answer. Whatever was done before may be done again: a turn is known by its session, episode, time and text, a session and
an episode by their ids, and feedback is looked for before it is sent."""

from __future__ import annotations

from typing import Any, Dict, Generator, List, NamedTuple, Set, Tuple

from .evidence import PART, Said, how_stored

PAGE = 8  # traces; each may be large
SESSION_PAGES = 40
UNKNOWN = "#unknown=author"  # ends the names of sessions for words whose author cannot be told
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
    elif kind == "evidence":
        yield from _evidence(session, params, opened)
    else:
        yield from _open(session, str(params.get("episodeId") or ""), opened)
        yield Ask("subagent.record" if kind == "subagent" else "turn.end", params, pinned=True)
        if body.get("replaces"):
            yield from _take_back(str(body["replaces"]["session"]), int(body["replaces"]["ts"]))


def _open(session: "Dict[str, Any]", episode: str, opened: Opened) -> Steps:
    name = str(session["id"])
    if (name, "") not in opened:
        yield Ask("session.open", opening(session))
        opened.add((name, ""))
    if (name, episode) not in opened:
        yield Ask("episode.open", {"sessionId": name, "episodeId": episode}, pinned=True)
        opened.add((name, episode))


def _take_back(session: str, ts: int) -> Steps:
    """What was stored of a turn before it was over. The whole of it is in the store by now."""
    trace = yield from _judged(session, ts, 0)
    if trace:
        yield Ask("memory.forget", {"id": trace})


# ---- what the host is about to compress, and nobody knows whether it is stored


def _evidence(session: "Dict[str, Any]", params: "Dict[str, Any]", opened: Opened) -> Steps:
    """Stores those of the turns that are not there yet, each once."""
    yield from _open(session, str(params["episodeId"]), opened)
    known, others = yield from _sessions_of([str(one) for one in params["names"]], str(session["id"]))
    missing = {number: Said(one["userText"], tuple(one["parts"])) for number, one in enumerate(params["turns"])}
    parts: "Dict[int, str]" = {}
    for name in known:
        yield from _strike(name, missing, int(params["ts"]), parts)
    # Where several people speak in one session, words of which it is not known who wrote them are shown to none of them.
    apart = params.get("unattributed") if others or params.get("several") else None
    target, episode = (apart["session"], apart["episodeId"]) if apart else (session, params["episodeId"])
    if missing and apart:
        yield from _open(target, str(episode), opened)
    for number in sorted(missing):
        said = missing[number]
        turn = {
            "agent": session["agent"], "sessionId": target["id"], "episodeId": episode, "userText": said.user,
            "agentText": said.answer, "toolCalls": [], "ts": int(params["ts"]) + number,
        }
        if params.get("contextHints"):
            turn["contextHints"] = params["contextHints"]
        yield Ask("turn.end", turn, pinned=True)
        if number in parts and not apart:
            yield Ask("memory.forget", {"id": parts[number]})


def _sessions_of(names: "List[str]", own: str) -> "Generator[Ask, Any, Tuple[List[str], bool]]":
    """Those in which turns of a conversation may be, ours first: the host has called it by these names, or by others before
    them, and each author has one. And whether there is another author than ours."""
    parents: "Dict[str, str]" = {}  # of each session, what the host called it before
    before = ""
    for _ in range(SESSION_PAGES):
        words: "Dict[str, Any]" = {"limit": 500}
        if before:
            words["before"] = before
        found = (yield Ask("memory.sessions", words)) or {}
        for one in found.get("sessions") or []:
            meta = one.get("meta")
            parents[str(one.get("id"))] = str(meta.get("parentSessionId") or "") if isinstance(meta, dict) else ""
        before = str(found.get("next") or "")
        if not before:
            break
    wanted, mine = list(names), {own: own[len(names[0]):]}
    for name in wanted:  # grows meanwhile
        for one, parent in parents.items():
            if one == name or (one.startswith(name + "#") and "=" in one[len(name):]):
                mine.setdefault(one, one[len(name):])
                if parent and parent not in wanted:
                    wanted.append(parent)
    several = any(of != mine[own] and not of.endswith(UNKNOWN) for of in mine.values())
    return list(mine), several


def _strike(session: str, missing: "Dict[int, Said]", until: int, parts: "Dict[int, str]") -> Steps:
    """Off the list what was stored in a session before; `parts` gets what was stored of a turn that went on."""
    offset = 0
    while missing:
        found = yield Ask("memory.list_traces", {"sessionId": session, "limit": PAGE, "offset": offset})
        traces: "List[Dict[str, Any]]" = (found or {}).get("traces") or []
        for one in traces:
            if one.get("kind") != "turn" or one.get("meta") == NOTE or int(one.get("ts") or 0) >= until:
                continue
            user, agent = str(one.get("userText") or ""), str(one.get("agentText") or "")
            for number, said in missing.items():
                how = how_stored(said, user, agent)
                if how == PART:
                    parts.setdefault(number, str(one.get("id")))
                elif how:
                    del missing[number]
                if how:
                    break  # one stored turn is one turn
        if len(traces) < PAGE:
            return
        offset += len(traces)


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
