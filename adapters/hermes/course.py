"""How far a session is in this process, whichever provider hears of it: the host makes a new one whenever it likes, syncs a
turn on a worker that may be late, and lets a reviewer work under the same session."""

from __future__ import annotations

import collections
import contextlib
import secrets
from typing import Any, Callable, Deque, Dict, Generic, List, NamedTuple, Optional, Tuple, TypeVar

from .author import Author
from .capture import Turn, cut, is_review
from .evidence import normal
from .ledger import Ledger
from .locks import ProcessLock

MAX_SESSIONS = 1024
LATE = 4  # turns that may be finished and not synced yet
BEGUN = 16  # turns that may have begun and not be synced; of one that is interrupted, no sync comes
Judged = Dict[str, Any]
Words = Tuple[str, str]
Kept = TypeVar("Kept")


def _words(user: Any, assistant: Any) -> Words:
    return cut(user).strip(), cut(assistant).strip()


class Begun(NamedTuple):
    text: str
    author: "Optional[Author]"


class Record:
    """What is known of one session in the store, of which a session of the host has one for each author."""

    def __init__(self) -> None:
        self.episode = ""
        self.spoken = False

    def episode_for_writing(self) -> str:
        """The one that the store named, or one that we name and it will open."""
        if not self.episode:
            self.episode = "ep_" + secrets.token_hex(12)
        return self.episode


class Course:
    def __init__(self, ledger: Ledger) -> None:
        self.lock = ProcessLock()
        self.turn = Turn()
        # The time of the last turn in the queue: what feedback is about. None: said before this process was, 0: there is none.
        self.last: "Optional[int]" = None
        self.last_author: "Optional[Author]" = None
        self.ledger = ledger
        self.ancestors: "List[str]" = []  # sessions of the host that this one goes on
        self.authors: "collections.OrderedDict[Optional[Author], None]" = collections.OrderedDict()  # that were heard
        self._begun: "Deque[Begun]" = collections.deque(maxlen=BEGUN)  # and not synced yet
        self._told = False  # the host names the author of a turn at its sync
        self._finished: "Deque[Words]" = collections.deque(maxlen=LATE)  # and not synced yet
        self._judged: "List[Tuple[Words, Judged]]" = []  # about one of those

    # ---- authors

    @property
    def author(self) -> "Optional[Author]":
        """Of the turn that is going on; None when there is none, or it is the owner's."""
        with self.lock:
            return self._begun[-1].author if self._begun else None

    def begin(self, message: Any, author: "Optional[Author]") -> None:
        if not is_review(message):
            with self.lock:
                self._begun.append(Begun(normal(message), author))
                self._heard(author)
                with self.ledger.lock:
                    self.ledger.begin(message, author)

    def written(self, user: Any, author: "Optional[Author]") -> "Optional[Author]":
        """A turn has come to its sync: its author. A host that does not name one here has done so when the turn began."""
        text = normal(user)
        with self.lock:
            self._told = self._told or author is not None
            which = next((one for one in self._begun if one.text == text), None)
            # The host may have taken away what it had put around the user's words.
            which = which or next((one for one in self._begun if text and text in one.text), None)
            if which is not None:
                with self.ledger.lock:
                    self.ledger.keep(which.text)
            else:
                which = next((one for one in self._begun if one.author == author), None)
            if which is None and author is None and not self._told and self._begun:
                which = self._begun[0]
            while which is not None and self._begun.popleft() is not which:
                pass
            if which is not None and author is None:
                author = which.author
            self._heard(author)
            self.last_author = author
            return author

    def begun(self) -> "List[Begun]":
        with self.lock:
            return list(self._begun)

    def _heard(self, author: "Optional[Author]") -> None:
        self.authors[author] = None
        self.authors.move_to_end(author)
        while len(self.authors) > MAX_SESSIONS:
            self.authors.popitem(last=False)

    def goes_on(self, name: str, before: "Course") -> None:
        with self.lock:
            self.ancestors = [name, *before.ancestors][:MAX_SESSIONS]
            self._begun.extend(before.begun())
            for author in list(before.authors):
                self._heard(author)

    # ---- feedback

    def rewind(self) -> None:
        """The last turn was taken back: what was gathered of it, and what could have been judged, is not part of it."""
        with self.lock:
            self.turn = Turn()
            self.last = 0
            self._begun.clear()
            self._finished.clear()
            self._judged.clear()

    def finished(self, user: Any, assistant: Any) -> None:
        """The model has had its last word in a turn; its sync is on the way."""
        if not is_review(user):
            with self.lock:
                self._finished.append(_words(user, assistant))

    def judge(self, judged: Judged) -> bool:
        """Feedback about the turn that was finished last. True when its sync is still to come: synced() gives it back then.
        False when it can be stored now, about `last`."""
        with self.lock:
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
        with self.lock:
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


class Recent(Generic[Kept]):
    """By name; those that were not used for long are forgotten."""

    def __init__(self, make: "Callable[[str], Kept]", lock: ProcessLock) -> None:
        self._make = make
        self._lock = lock
        self._of: "collections.OrderedDict[str, Kept]" = collections.OrderedDict()

    def of(self, name: str) -> Kept:
        with self._lock:
            found = self._of.get(name)
            if found is None:
                found = self._of.setdefault(name, self._make(name))
            with contextlib.suppress(KeyError):  # forgotten since, by a finalizer on this thread
                self._of.move_to_end(name)
            while len(self._of) > MAX_SESSIONS:
                self._of.popitem(last=False)
            return found

    def put_new(self, name: str, one: Kept) -> bool:
        """False, and nothing changed, when there is one already."""
        with self._lock:
            return self._of.setdefault(name, one) is one

    def forget(self, name: str) -> None:
        with self._lock:
            if name in self._of:
                del self._of[name]


class Courses:
    """Of one home: courses by the sessions of the host, records by the sessions in the store. A ledger stays when its session
    was left: the sync of a turn may come after that."""

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._ledgers: "Recent[Ledger]" = Recent(lambda _: Ledger(), self._lock)
        self._courses: "Recent[Course]" = Recent(lambda name: Course(self._ledgers.of(name)), self._lock)
        self._records: "Recent[Record]" = Recent(lambda _: Record(), self._lock)

    def of(self, session: str) -> Course:
        return self._courses.of(session)

    def record(self, session: str) -> Record:
        return self._records.of(session)

    def goes_on(self, session: str, before: str, name: str) -> None:
        """The host left the session `before`, which it calls `name`, for another. One that was never heard of is the same
        conversation, compressed or forked; one that is known is only gone back to."""
        if self._ledgers.put_new(session, self.of(before).ledger):
            self.of(session).goes_on(name, self.of(before))

    def forget(self, session: str, records: "List[str]") -> None:
        self._courses.forget(session)
        for one in records:
            self._records.forget(one)
