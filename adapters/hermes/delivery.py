"""The requests that bring one waiting item into the store, as a conversation with it: each step yields what to ask and is sent
the answer. Whatever was done before may be done again: a turn is known by its session, episode, time and text, a session and
an episode by their ids, and feedback is looked for before it is sent."""

from __future__ import annotations

from typing import Any, Dict, Generator, List, NamedTuple, Set, Tuple

from .author import UNKNOWN
from .evidence import PART, WHOLE, Said, how_stored
from .words import bare

PAGE = 8  # traces; each may be large
SESSION_PAGES = 40
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
    _, trace = yield from _judged(session, ts, 0)
    if trace:
        yield Ask("memory.forget", {"id": trace})


# ---- what the host is about to compress, and nobody knows whether it is stored


def _evidence(session: "Dict[str, Any]", params: "Dict[str, Any]", opened: Opened) -> Steps:
    """Stores those of the turns that are not there yet, each once."""
    yield from _open(session, str(params["episodeId"]), opened)
    names = [str(one) for one in params["names"]]
    known = yield from _sessions_of(names, str(session["id"]))
    others = any(member != known[str(session["id"])] and not member.endswith(UNKNOWN) for member in known.values())
    own: "Dict[str, Any]" = {"session": session, "episodeId": params["episodeId"], "contextHints": params.get("contextHints")}
    # Where several people speak in one session, words of which it is not known who wrote them are shown to none of them.
    # An item without speakers is of a version that could not tell.
    several = others or params.get("several") or "speakers" not in params
    apart = params.get("unattributed") if several else None
    authors: "List[Dict[str, Any]]" = params.get("speakers") or []
    search = Search(params["turns"], [_member(one["session"], names[0]) for one in authors])
    for name, member in known.items():
        yield from _strike(name, member, search, int(params["ts"]))
    speakers = search.speakers()
    for number in sorted(search.missing):
        said = search.missing[number]
        target = authors[speakers[number]] if number in speakers else {**own, **(apart or {})}
        yield from _open(target["session"], str(target["episodeId"]), opened)
        turn = {
            "agent": session["agent"], "sessionId": target["session"]["id"], "episodeId": target["episodeId"],
            "userText": said.user, "agentText": said.answer, "toolCalls": [], "ts": int(params["ts"]) + number,
        }
        if target.get("contextHints"):
            turn["contextHints"] = target["contextHints"]
        yield Ask("turn.end", turn, pinned=True)
        # What another author has is another turn.
        for part in search.parts.get((number, _member(target["session"], names[0])), [])[:1]:
            yield Ask("memory.forget", {"id": part})


def _member(session: "Dict[str, Any]", name: str) -> str:
    """What an author adds to the name of a session of the host."""
    return str(session["id"])[len(name):]


class Search:
    """For turns, each with the authors of those that began with its words and were not synced."""

    def __init__(self, turns: "List[Dict[str, Any]]", members: "List[str]") -> None:
        self.missing = {number: Said(one["userText"], tuple(one["parts"])) for number, one in enumerate(turns)}
        self.parts: "Dict[Tuple[int, str], List[str]]" = {}  # by author, what is stored of a turn that went on
        self._members = members
        self._speakers = {number: tuple(one.get("speakers") or ()) for number, one in enumerate(turns)}
        self._doubtful: "Set[int]" = set()  # that may be the turn of somebody else who said the same

    def seen(self, member: str, user: str, agent: str, trace: str) -> None:
        """One stored turn is one turn."""
        stored = {number: how_stored(said, user, agent) for number, said in self.missing.items()}
        found = {number: how for number, how in stored.items() if how}
        whole = [number for number, how in found.items() if how == WHOLE]
        mine = [number for number in found if self._may_be(number, member)]
        number = next(iter([each for each in whole if each in mine] or whole or mine or found), None)
        if number is None:
            return
        if not whole and not mine:
            self._doubtful.add(number)
        elif found[number] == PART:
            self.parts.setdefault((number, member), []).append(trace)
        else:
            del self.missing[number]

    def _may_be(self, number: int, member: str) -> bool:
        """By its words alone."""
        return not self._speakers[number] or member in [self._members[one] for one in self._speakers[number]]

    def speakers(self) -> "Dict[int, int]":
        """Of those that are missing, as far as it can be told: as many began as are missing, or one author began them all."""
        groups: "Dict[Tuple[str, Tuple[int, ...]], List[int]]" = {}
        for number in sorted(self.missing):
            groups.setdefault((bare(self.missing[number].user), self._speakers[number]), []).append(number)
        found: "Dict[int, int]" = {}
        for (_, known), numbers in groups.items():
            clear = len(numbers) == len(known) or (len(numbers) < len(known) and len(set(known)) == 1)
            if clear and not self._doubtful.intersection(numbers):
                found.update(zip(numbers, known))
        return found


def _sessions_of(names: "List[str]", own: str, before: bool = True) -> "Generator[Ask, Any, Dict[str, str]]":
    """Those in which turns of a conversation may be, ours first, each with what its author adds to the name: the host has called
    it by these names, or, with `before`, by others before them, and each author has one."""
    parents: "Dict[str, str]" = {}  # of each session, what the host called it before
    page = ""
    for _ in range(SESSION_PAGES):
        words: "Dict[str, Any]" = {"limit": 500}
        if page:
            words["before"] = page
        found = (yield Ask("memory.sessions", words)) or {}
        for one in found.get("sessions") or []:
            meta = one.get("meta")
            parents[str(one.get("id"))] = str(meta.get("parentSessionId") or "") if isinstance(meta, dict) else ""
        page = str(found.get("next") or "")
        if not page:
            break
    wanted, mine = list(names), {own: own[len(names[0]):]}
    for name in wanted:  # grows meanwhile
        for one, parent in parents.items():
            if one == name or (one.startswith(name + "#") and "=" in one[len(name):]):
                mine.setdefault(one, one[len(name):])
                if before and parent and parent not in wanted:
                    wanted.append(parent)
    return mine


def _strike(session: str, member: str, search: Search, until: int) -> Steps:
    """Off the list what was stored in a session before."""
    offset = 0
    while search.missing:
        found = yield Ask("memory.list_traces", {"sessionId": session, "limit": PAGE, "offset": offset})
        traces: "List[Dict[str, Any]]" = (found or {}).get("traces") or []
        for one in traces:
            if one.get("kind") == "turn" and one.get("meta") != NOTE and int(one.get("ts") or 0) < until:
                search.seen(member, str(one.get("userText") or ""), str(one.get("agentText") or ""), str(one.get("id")))
        if len(traces) < PAGE:
            return
        offset += len(traces)


def _judge(body: "Dict[str, Any]", params: "Dict[str, Any]") -> Steps:
    own, about = str(body["session"]["id"]), body.get("about")
    names = params.pop("names", None)
    sessions = [own]
    if names and not about:  # the last turn may be that of another author
        sessions = list((yield from _sessions_of([str(one) for one in names], own, before=False)))
    last, trace = 0, ""
    for session in sessions:
        said, found = yield from _judged(session, about, int(params["ts"]))
        if found and said >= last:
            last, trace = said, found
    if not trace:
        raise Dropped("feedback on a turn that was never stored was dropped")
    whole = yield Ask("memory.get_trace", {"id": trace})
    known: "List[Dict[str, Any]]" = (whole or {}).get("feedback") or []
    # It has no identity in the store but its time.
    if not any(one.get("ts") == params["ts"] for one in known):
        yield Ask("feedback.submit", {**params, "traceId": trace}, idempotent=False)


def _judged(session: str, about: "Any", ts: int) -> "Generator[Ask, Any, Tuple[int, str]]":
    """Time and id of the turn with the time `about`; without one, of the last that was said in the session before `ts`."""
    offset = 0
    while True:
        found = yield Ask("memory.list_traces", {"sessionId": session, "limit": PAGE, "offset": offset})
        traces: "List[Dict[str, Any]]" = (found or {}).get("traces") or []
        for one in traces:  # the newest first
            said = int(one.get("ts") or 0)
            turn = one.get("kind") == "turn" and one.get("meta") != NOTE
            if turn and (said == about if about else said < ts):
                return said, str(one.get("id") or "")
            if about and said < about:
                return 0, ""
        if len(traces) < PAGE:
            return 0, ""
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
