"""Which turns of a conversation are kept already, as far as this process has seen them.

The host compresses a conversation while turns of it are under way: their sync comes later, or, when they were interrupted,
never. A turn is known here by its words, since the host gives it no other name.
"""

from __future__ import annotations

import collections
from typing import Any, Callable, Iterable, List, NamedTuple, Optional

from .author import Author
from .capture import Begun
from .evidence import Said
from .locks import ProcessLock
from .words import alike, mark, normal

MOST = 4096  # turns and answers that are remembered
EARLY = 64  # turns that were stored before their sync


class Early(NamedTuple):
    """A turn that was stored before its sync."""

    ts: int
    author: "Optional[Author]"  # NOBODY: it is not known who that is
    session: str  # in the store
    said: Said
    begun: "Optional[Begun]"  # it was stored then, and not before; None: perhaps it was


class Ledger:
    """Sessions of the host that go on one another have one. Whoever asks it and acts on the answer holds its lock meanwhile,
    taken after that of a course."""

    def __init__(self) -> None:
        self.lock = ProcessLock()
        self._users: "collections.OrderedDict[str, None]" = collections.OrderedDict()
        self._answers: "collections.OrderedDict[str, None]" = collections.OrderedDict()
        self._early: "List[Early]" = []

    def begin(self, user: Any) -> None:
        """What has the same words and was stored before is another turn, and never comes to its sync."""
        text = normal(user)
        self._early = [one for one in self._early if one.begun is not None or not alike(one.said.user, text)]

    def keep(self, user: Any, answers: "Iterable[Any]" = ()) -> None:
        if normal(user):
            _put(self._users, mark(user))
        for one in answers:
            if normal(one):
                _put(self._answers, mark(one))

    def keeps(self, said: Said, begun: bool = False) -> bool:
        """`begun`: a turn with these words has begun, and its sync has not come."""
        answered = all(mark(one) in self._answers for one in said.parts)
        if not said.user:
            return answered
        return mark(said.user) in self._users and (not begun or (bool(said.parts) and answered))

    # ---- stored before their sync

    def put_early(self, early: Early) -> None:
        self._early.append(early)
        del self._early[:-EARLY]

    def early_of(self, begun: "Optional[Begun]") -> "Optional[Early]":
        return next((one for one in self._early if begun is not None and one.begun is begun), None)

    def early(self, user: str, of: "Callable[[Early], bool]" = lambda _: True) -> "Optional[Early]":
        """The first with these words that `of` is true of."""
        found = [one for one in self._early if of(one)]
        exact = [one for one in found if one.said.user == user]
        return next(iter(exact or [one for one in found if alike(one.said.user, user)]), None)

    def take_early(self, early: Early) -> None:
        self._early = [one for one in self._early if one is not early]


def _put(into: "collections.OrderedDict[str, None]", one: str) -> None:
    into[one] = None
    into.move_to_end(one)
    while len(into) > MOST:
        into.popitem(last=False)
