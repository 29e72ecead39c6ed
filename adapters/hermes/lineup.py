"""Which of the waiting items is next. Pure.

Within a session it goes by time, whoever wrote it down. Between sessions, what is said now goes before what dead processes
left, so that a long queue of theirs holds nobody up.
"""

from __future__ import annotations

import collections
from typing import Callable, Deque, Iterable, List, Optional, Set

from .spool import Item


class Lineup:
    def __init__(self) -> None:
        self._own: "Deque[Item]" = collections.deque()
        self._left: "Deque[Item]" = collections.deque()  # by processes that are no more
        self._marks: "collections.Counter[str]" = collections.Counter()  # of those
        self._held: "List[Item]" = []  # of sessions of which somebody else has older ones
        self._blocked: "Set[str]" = set()
        self._clear: "Set[str]" = set()

    def __len__(self) -> int:
        return len(self._own) + len(self._left) + len(self._held)

    @property
    def own(self) -> int:
        return len(self._own)

    def waits(self, until: int) -> bool:
        """Something of our own from that time or before."""
        return any(one.folder.own and one.ts <= until for one in (*list(self._own)[:1], *self._held))

    def add(self, item: Item) -> None:
        """The newest of all."""
        self._own.append(item)

    def take_up(self, items: "Iterable[Item]") -> None:
        merged = sorted([*self._left, *items], key=lambda one: one.order)
        self._left = collections.deque(merged)
        self._marks = collections.Counter(one.mark for one in merged)

    def next(self, is_ahead: "Callable[[Item], bool]") -> "Optional[Item]":
        """Out of the line. `is_ahead`: somebody else has older ones of its session; asked once for each session."""
        while self._own or self._left:
            if self._own and (not self._left or not self._marks[self._own[0].mark]):
                item = self._own.popleft()
            else:
                item = self._left.popleft()
                self._marks[item.mark] -= 1
            if item.mark not in self._clear and item.mark not in self._blocked:
                (self._blocked if is_ahead(item) else self._clear).add(item.mark)
            if item.mark in self._clear:
                return item
            self._held.append(item)
        return None

    def put_back(self, item: Item) -> None:
        """One that next() gave, to its place."""
        if item.folder.own:
            self._own.appendleft(item)
        else:
            self._left.appendleft(item)
            self._marks[item.mark] += 1

    def look_again(self) -> bool:
        """Those that were held back, once more; False when there are none."""
        held, self._held = self._held, []
        self._blocked.clear()
        self._clear.clear()
        self._own = collections.deque(sorted([*(one for one in held if one.folder.own), *self._own], key=lambda one: one.order))
        self.take_up([one for one in held if not one.folder.own])
        return bool(held)

    def give_back(self) -> None:
        """Only our own are left; about all others everything is open again."""
        self.look_again()
        self._left.clear()
        self._marks.clear()
