"""Which turns of a conversation are kept already, as far as this process has seen them.

The host compresses a conversation while turns of it are under way: their sync comes later, or, when they were interrupted,
never. A turn is known here by its words, since the host gives it no other name.
"""

from __future__ import annotations

import collections
import hashlib
from typing import Any, Iterable, List, NamedTuple, Optional, Tuple

from .author import Author
from .evidence import Said, normal
from .locks import ProcessLock

MOST = 4096  # turns and answers that are remembered
EARLY = 64  # turns that were stored before their sync


class Early(NamedTuple):
    """A turn that was stored before its sync."""

    ts: int
    session: str  # in the store
    said: Said
    sure: bool  # that it was stored then, and not before


def _mark(text: Any) -> bytes:
    return hashlib.sha256(normal(text).encode("utf-8", "replace")).digest()[:16]


class Ledger:
    """Sessions of the host that go on one another have one. Whoever asks it and acts on the answer holds its lock meanwhile,
    taken after that of a course."""

    def __init__(self) -> None:
        self.lock = ProcessLock()
        self._users: "collections.OrderedDict[bytes, None]" = collections.OrderedDict()
        self._answers: "collections.OrderedDict[bytes, None]" = collections.OrderedDict()
        self._authors: "collections.OrderedDict[bytes, Optional[Author]]" = collections.OrderedDict()
        self._early: "collections.OrderedDict[bytes, List[Early]]" = collections.OrderedDict()

    def begin(self, user: Any, author: "Optional[Author]") -> None:
        mark = _mark(user)
        _put(self._authors, mark, author)
        # What has the same words and was stored before is another turn, and never comes to its sync.
        sure = [one for one in self._early.pop(mark, []) if one.sure]
        if sure:
            self._early[mark] = sure

    def author_of(self, user: str) -> "Tuple[bool, Optional[Author]]":
        """Whether the turn began in this process, and who wrote it."""
        mark = _mark(user)
        return mark in self._authors, self._authors.get(mark)

    def keep(self, user: Any, answers: "Iterable[Any]" = ()) -> None:
        if normal(user):
            _put(self._users, _mark(user), None)
        for one in answers:
            if normal(one):
                _put(self._answers, _mark(one), None)

    def keeps(self, said: Said) -> bool:
        if said.user:
            return _mark(said.user) in self._users
        return all(_mark(one) in self._answers for one in said.parts)

    # ---- stored before their sync

    def put_early(self, early: Early) -> None:
        mark = _mark(early.said.user)
        self._early.setdefault(mark, []).append(early)
        self._early.move_to_end(mark)
        while len(self._early) > EARLY:
            self._early.popitem(last=False)

    def early(self, user: Any) -> "Optional[Early]":
        found = self._early.get(_mark(user))
        return found[0] if found else None

    def take_early(self, user: Any) -> "Optional[Early]":
        mark = _mark(user)
        found = self._early.get(mark)
        if not found:
            return None
        taken = found.pop(0)
        if not found:
            del self._early[mark]
        return taken


def _put(into: "collections.OrderedDict[bytes, Any]", mark: bytes, value: Any) -> None:
    into[mark] = value
    into.move_to_end(mark)
    while len(into) > MOST:
        into.popitem(last=False)
