"""Before the host compresses a conversation: what was said in it and is not stored yet is stored first.

The sync of such a turn may come later. Then the whole turn takes the place of what was stored of it, so that no turn is there
twice.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from .author import Author
from .course import Course
from .evidence import Said, joined, turns_of
from .ledger import Early
from .link import AGENT, Conversation, Link

WITHIN = 20.0  # seconds, for the store to answer; the host waits that long with a conversation that is too long already
NOT_ASKED = 5.0  # seconds, where the host goes on anyway


class NotStored(RuntimeError):
    """What the host was going to compress is not safe in the store."""


def checkpoint(link: Link, name: str, messages: "List[Any]", hints: "Dict[str, Any]", within: float) -> None:
    """Returns when the store has answered for every turn that is told here, or was before. Raises NotStored, or what keeps
    a turn from the queue."""
    course = link.course(name)
    with course.lock, course.ledger.lock:
        _put_missing(link, name, course, messages, hints)
    link.outbox.kick()
    if not link.outbox.wait_stored(within):
        raise NotStored(
            f"the store has not answered within {within:g} s for what would be compressed; it waits on disk in {link.where.queue}"
        )


def _put_missing(link: Link, name: str, course: Course, messages: "List[Any]", hints: "Dict[str, Any]") -> None:
    ledger, begun = course.ledger, course.begun()
    turns = turns_of(messages)
    if len(turns) == 1 and not turns[0].user and begun:
        early = ledger.early(begun[-1].text)
        if early is not None:  # the beginning of the turn that is going on was compressed before
            turns = [Said(early.said.user, turns[0].parts)]
    several = any(link.owner.member(one) != link.owner.member(None) for one in course.authors)
    unknown: "List[Said]" = []
    fresh: "List[Tuple[Said, Optional[Author]]]" = []
    for said in reversed(turns):  # from the last one on, since a person may say the same twice
        pending = next((one for one in reversed(begun) if said.user and one.text == said.user), None)
        heard, author = ledger.author_of(said.user)
        early = ledger.early(said.user) if said.user else None
        if pending is not None:
            begun.remove(pending)
            fresh.append((said, pending.author))
        elif early is not None:
            if not several:
                fresh.append((said, None))
        elif not ledger.keeps(said):
            if heard and said.user:
                fresh.append((said, author))
            else:
                unknown.append(said)
    # In their order, and what nobody knows first: it was said before the rest.
    if unknown:
        _put_unknown(link, name, course, unknown[::-1], several, hints)
    for said, author in reversed(fresh):
        _put_fresh(link.conversation(name, author), link, said, hints)


def _put_fresh(conversation: Conversation, link: Link, said: Said, hints: "Dict[str, Any]") -> None:
    ledger = conversation.course.ledger
    early = ledger.early(said.user)
    if early is not None:
        said = Said(said.user, tuple(dict.fromkeys([*early.said.parts, *said.parts])))
        if said == early.said:
            return
    replaces = {"session": early.session, "ts": early.ts} if early is not None else None
    ts = link.outbox.put("turn", conversation.for_queue(), turn_of(conversation, said, hints), replaces=replaces)
    conversation.record.spoken = True
    if early is not None:
        ledger.take_early(said.user)
    ledger.put_early(Early(ts, conversation.id, said, early is None or early.sure))
    ledger.keep("", said.parts)


def turn_of(conversation: Conversation, said: Said, hints: "Dict[str, Any]") -> "Dict[str, Any]":
    params: "Dict[str, Any]" = {
        "agent": AGENT, "sessionId": conversation.id, "episodeId": conversation.record.episode_for_writing(),
        "userText": said.user, "agentText": said.answer, "toolCalls": [],
    }
    if hints:
        params["contextHints"] = hints
    return params


def _put_unknown(
    link: Link, name: str, course: Course, turns: "List[Said]", several: bool, hints: "Dict[str, Any]"
) -> None:
    """From before this process, most of them stored then: whoever delivers them looks first."""
    owner = link.conversation(name)
    params: "Dict[str, Any]" = {
        "turns": [{"userText": one.user, "parts": list(one.parts)} for one in turns],
        "names": [link.name_of(name), *course.ancestors],
        "episodeId": owner.record.episode_for_writing(),
        "contextHints": hints,
        "several": several,
    }
    if link.owner.apart:
        nobody = link.unattributed(name)
        params["unattributed"] = {"session": nobody.for_queue(), "episodeId": nobody.record.episode_for_writing()}
    ts = link.outbox.put("evidence", owner.for_queue(), params, times=len(turns))
    owner.record.spoken = True
    for number, said in enumerate(turns):
        if said.user:
            course.ledger.put_early(Early(ts + number, owner.id, said, False))
        course.ledger.keep("", said.parts)


def at_sync(
    conversation: Conversation, user: str, assistant: str, extra: "Dict[str, Any]", hints: "Dict[str, Any]"
) -> "Tuple[Dict[str, Any], Optional[Dict[str, Any]], int]":
    """A turn has come to its sync: the whole of it for turn.end, and what was stored of it before, which it replaces. With a
    time, of that one: it was the whole turn, and nothing is to be stored."""
    early = conversation.course.ledger.take_early(user)
    said = Said(user, joined(early.said.parts, assistant) if early is not None else (assistant,))
    params = {**turn_of(conversation, said, hints), **extra}
    if early is None:
        return params, None, 0
    nothing_new = not extra["toolCalls"] and not extra.get("agentThinking") and early.sure
    same = nothing_new and (early.said.parts, early.session) == (said.parts, conversation.id)
    return params, {"session": early.session, "ts": early.ts}, early.ts if same else 0
