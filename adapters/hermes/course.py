"""How far a session is in this process, whichever provider hears of it: the host makes a new one whenever it likes, syncs a
turn on a worker that may be late, and lets a reviewer work under the same session."""

from __future__ import annotations

import collections
import contextlib
import secrets
from typing import Any, Deque, Dict, List, Optional, Tuple

from .capture import Turn, cut, is_review
from .locks import ProcessLock

MAX_SESSIONS = 1024
LATE = 4  # turns that may be finished and not synced yet
Judged = Dict[str, Any]
Words = Tuple[str, str]


def _words(user: Any, assistant: Any) -> Words:
    return cut(user).strip(), cut(assistant).strip()


class Course:
    def __init__(self) -> None:
        self._lock = ProcessLock()
        self.turn = Turn()
        self.episode = ""
        self.spoken = False
        # The time of the last turn in the queue: what feedback is about. None: said before this process was, 0: there is none.
        self.last: "Optional[int]" = None
        self._finished: "Deque[Words]" = collections.deque(maxlen=LATE)  # and not synced yet
        self._judged: "List[Tuple[Words, Judged]]" = []  # about one of those

    def episode_for_writing(self) -> str:
        """The one that the store named, or one that we name and it will open."""
        if not self.episode:
            self.episode = "ep_" + secrets.token_hex(12)
        return self.episode

    def rewind(self) -> None:
        """The last turn was taken back: what was gathered of it, and what could have been judged, is not part of it."""
        with self._lock:
            self.turn = Turn()
            self.last = 0
            self._finished.clear()
            self._judged.clear()

    def finished(self, user: Any, assistant: Any) -> None:
        """The model has had its last word in a turn; its sync is on the way."""
        if not is_review(user):
            with self._lock:
                self._finished.append(_words(user, assistant))

    def judge(self, judged: Judged) -> bool:
        """Feedback about the turn that was finished last. True when its sync is still to come: synced() gives it back then.
        False when it can be stored now, about `last`."""
        with self._lock:
            if not self._finished:
                return False
            self._judged.append((self._finished[-1], judged))
            return True

    @property
    def unbound(self) -> int:
        """Feedback about turns whose sync has not come."""
        return len(self._judged)

    def synced(self, user: Any, assistant: Any) -> "Tuple[List[Judged], int]":
        """A turn has come to its sync: the feedback about it that came before, and how much was about turns that now never
        will. The worker keeps the order, so those that were finished before it were not to be synced."""
        words = _words(user, assistant)
        with self._lock:
            which = next((one for one in self._finished if one == words), None)
            # A host may have changed a word on the way.
            which = which or next((one for one in self._finished if one[0] == words[0]), None)
            which = which or (self._finished[0] if self._finished else None)
            while self._finished and self._finished.popleft() is not which:
                pass
            about = [judged for one, judged in self._judged if one is which]
            open_ones = [(one, judged) for one, judged in self._judged if any(one is left for left in self._finished)]
            lost = len(self._judged) - len(about) - len(open_ones)
            self._judged = open_ones
            return about, lost


class Courses:
    """By the names of sessions in the store; those that were not used for long are forgotten."""

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._of: "collections.OrderedDict[str, Course]" = collections.OrderedDict()

    def of(self, session: str) -> Course:
        with self._lock:
            found = self._of.setdefault(session, Course())
            with contextlib.suppress(KeyError):  # forgotten since, by a finalizer on this thread
                self._of.move_to_end(session)
            while len(self._of) > MAX_SESSIONS:
                self._of.popitem(last=False)
            return found

    def forget(self, session: str) -> "Optional[Course]":
        with self._lock:
            return self._of.pop(session, None)
