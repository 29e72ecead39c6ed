"""Before the host compresses a conversation: what was said in it and is not stored yet is stored first.

The sync of such a turn may come later. Then the whole turn takes the place of what was stored of it, so that no turn is there
twice.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .author import NOBODY, Author, who
from .capture import Begun
from .course import Course, Synced
from .evidence import Said, joined, turns_of
from .ledger import Early, Ledger
from .link import AGENT, Conversation, Link
from .words import alike, bare, normal

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


class Fresh(NamedTuple):
    """A turn that began in this process."""

    said: Said
    author: "Optional[Author]"
    begun: Begun
    early: "Optional[Early]"  # what was stored of it before


class Lookup(NamedTuple):
    """A turn of which nobody knows here whether it is stored."""

    said: Said
    authors: "List[Optional[Author]]"  # of turns that began with these words, in their order


def _put_missing(link: Link, name: str, course: Course, messages: "List[Any]", hints: "Dict[str, Any]") -> None:
    ledger, begun, turns = course.ledger, course.begun(), turns_of(messages)
    if len(turns) == 1 and not turns[0].user and begun:
        early = ledger.early_of(begun[-1])
        if early is not None:  # the beginning of the turn that is going on was compressed before
            turns = [Said(early.said.user, turns[0].parts)]
    pending = {one.key for one in begun}
    before = [one for one in link.speakers(name) if one.key not in pending]
    fresh: "Dict[int, Fresh]" = {}
    lookups: "Dict[int, Lookup]" = {}
    used: "List[str]" = []
    left = list(range(len(turns)))
    while left:  # by their words, since a person, or several, may say the same more than once
        words = bare(turns[left[0]].user)
        group = [number for number in left if bare(turns[number].user) == words]
        left = [number for number in left if number not in group]
        texts = list(dict.fromkeys(turns[number].user for number in group if words))
        speakers = [one for one in before if any(one.said(text) for text in texts)]
        mine = [one for one in begun if any(alike(one.text, text) for text in texts)]
        group = [number for number in group if not ledger.keeps(turns[number], bool(mine or speakers))]
        authors = [*(one.author for one in speakers), *(_author(link, one) for one in mine)]
        # When fewer are told than have begun, it cannot be told which of them these are.
        clear = len(group) >= len(authors) or len({link.owner.person(one) for one in authors}) == 1
        own = {one.text for one in mine}
        last = sorted(group, key=lambda each: (turns[each].user in own, each), reverse=True)
        for number, one in zip(last, mine[::-1] if clear else []):
            if alike(one.text, turns[number].user):
                fresh[number] = Fresh(Said(one.text, turns[number].parts), _author(link, one), one, ledger.early_of(one))
        used += [one.key for one in speakers] if group else []
        for number in group:
            if number not in fresh:
                known = [one.author for one in speakers if clear and one.said(turns[number].user)]
                _look(turns[number], known, ledger, number, fresh, lookups)
    # In their order, and what nobody knows first: it was said before the rest.
    if lookups:
        _put_lookups(link, name, course, [lookups[number] for number in sorted(lookups)], hints)
        link.spoken(name, used)
    for number in sorted(fresh):
        _put_fresh(link, link.conversation(name, fresh[number].author), fresh[number], hints)


def _author(link: Link, begun: Begun) -> "Optional[Author]":
    """As far as it is known before the sync: a host may name the author only there."""
    return begun.author if begun.named or link.owner.direct else NOBODY


def _look(
    said: Said, authors: "List[Optional[Author]]", ledger: Ledger, number: int,
    fresh: "Dict[int, Fresh]", lookups: "Dict[int, Lookup]",
) -> None:
    """Of a turn that did not begin in this process, or began and was left since."""
    early = ledger.early(said.user) if said.user else None
    if early is None:
        lookups[number] = Lookup(said, authors)
    elif not _goes_on(early, said, authors):
        lookups[number] = Lookup(said, authors)
    elif early.begun is not None:
        fresh[number] = Fresh(said, early.author, early.begun, early)
    elif not set(said.parts) <= set(early.said.parts):  # it has gone on since the last checkpoint
        lookups[number] = Lookup(said, authors or ([] if early.author == NOBODY else [early.author]))
        ledger.take_early(early)


def _goes_on(early: Early, said: Said, authors: "List[Optional[Author]]") -> bool:
    """It is that turn, and not another with the same words."""
    most = min(len(early.said.parts), len(said.parts))
    same = early.said.parts[:most] == said.parts[:most]
    return same and (most > 0 or not authors or {who(one) for one in authors} == {who(early.author)})


def _put_fresh(link: Link, conversation: Conversation, fresh: Fresh, hints: "Dict[str, Any]") -> None:
    ledger, (said, author, begun, early) = conversation.course.ledger, fresh
    if early is not None:
        said = Said(said.user, tuple(dict.fromkeys([*early.said.parts, *said.parts])))
        if said == early.said:
            return
    replaces = {"session": early.session, "ts": early.ts} if early is not None else None
    params = turn_of(link, conversation, author, said, hints)
    ts = link.outbox.put("turn", conversation.for_queue(), params, replaces=replaces)
    conversation.record.spoken = True
    if early is not None:
        ledger.take_early(early)
    ledger.put_early(Early(ts, author, conversation.id, said, begun))
    ledger.keep("", said.parts)


def turn_of(
    link: Link, conversation: Conversation, author: "Optional[Author]", said: Said, hints: "Dict[str, Any]"
) -> "Dict[str, Any]":
    params: "Dict[str, Any]" = {
        "agent": AGENT, "sessionId": conversation.id, "episodeId": conversation.record.episode_for_writing(),
        "userText": said.user, "agentText": said.answer, "toolCalls": [],
    }
    told = {**hints, **_by(link, author)}
    if told:
        params["contextHints"] = told
    return params


def _by(link: Link, author: "Optional[Author]") -> "Dict[str, Any]":
    """Who wrote a turn, for everybody to see who may see the turn."""
    writer = link.owner.writer(author)
    return {"author": writer._asdict()} if writer is not None else {}


def _put_lookups(link: Link, name: str, course: Course, turns: "List[Lookup]", hints: "Dict[str, Any]") -> None:
    """From before this process, most of them stored then: whoever delivers them looks first. What is not stored belongs to the
    author that is known on disk; else to all who share a memory, or to the one who alone speaks here, or to nobody."""
    owner = link.conversation(name)
    alone = not link.owner.apart or (link.owner.direct and not course.several(link.owner))
    authors = {link.owner.person(author): author for one in turns for author in one.authors}
    targets = [_target(link.conversation(name, author), {**hints, **_by(link, author)}) for author in authors.values()]
    persons = list(authors)
    params: "Dict[str, Any]" = {
        "turns": [
            {
                "userText": one.said.user, "parts": list(one.said.parts),
                "speakers": [persons.index(link.owner.person(each)) for each in one.authors],
            }
            for one in turns
        ],
        "speakers": targets,
        "names": [link.name_of(name), *course.ancestors],
        "episodeId": owner.record.episode_for_writing(),
        "contextHints": hints,
        "several": not alone,
    }
    if link.owner.apart:
        params["unattributed"] = _target(link.conversation(name, NOBODY), hints)
    ts = link.outbox.put("evidence", owner.for_queue(), params, times=len(turns))
    owner.record.spoken = True
    for number, one in enumerate(turns):
        only = None if alone and not one.authors else NOBODY
        if len({link.owner.person(each) for each in one.authors}) == 1:
            only = one.authors[0]
        if one.said.user:
            course.ledger.put_early(Early(ts + number, only, link.conversation(name, only).id, one.said, None))
        course.ledger.keep("", one.said.parts)


def _target(conversation: Conversation, hints: "Dict[str, Any]") -> "Dict[str, Any]":
    return {
        "session": conversation.for_queue(), "episodeId": conversation.record.episode_for_writing(), "contextHints": hints,
    }


def at_sync(
    link: Link, conversation: Conversation, synced: Synced, user: str, assistant: str, extra: "Dict[str, Any]",
    hints: "Dict[str, Any]",
) -> "Tuple[Dict[str, Any], Optional[Dict[str, Any]], int]":
    """A turn has come to its sync: the whole of it for turn.end, and what was stored of it before, which it replaces. With a
    time, of that one: it was the whole turn, and nothing is to be stored."""
    ledger, text = conversation.course.ledger, normal(user)
    person = link.owner.person(synced.author)

    def own(early: Early) -> bool:
        """What was stored under the name of another author is another turn, and so is what began at another time."""
        known = early.author != NOBODY and link.owner.person(early.author) == person
        return known and (early.begun is None or synced.begun is None)

    early = ledger.early_of(synced.begun) or ledger.early(text, own)
    said = Said(user, joined(early.said.parts, assistant) if early is not None else (assistant,))
    params = {**turn_of(link, conversation, synced.author, said, hints), **extra}
    if early is None:
        return params, None, 0
    ledger.take_early(early)
    nothing_new = not extra["toolCalls"] and not extra.get("agentThinking") and early.begun is not None
    same = nothing_new and (early.said, early.session) == (Said(text, said.parts), conversation.id)
    return params, {"session": early.session, "ts": early.ts}, early.ts if same else 0
