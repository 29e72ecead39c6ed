"""How far a session is in this process, whichever provider hears of it: the host makes a new one whenever it likes, syncs a
turn on a worker that may be late, and lets a reviewer work under the same session."""

from __future__ import annotations

import collections
import contextlib
import secrets
from typing import Any, Callable, Deque, Dict, Generic, List, NamedTuple, Optional, Tuple, TypeVar

from .author import NOBODY, Author, Owner, who
from .capture import Begun, Ended, Turn, cut, is_review
from .evidence import last_user_of
from .ledger import Ledger
from .locks import ProcessLock
from .speakers import Speaker
from .words import alike, normal

MAX_SESSIONS = 1024
LATE = 16  # turns that may be finished and not synced yet
BEGUN = 16  # turns that may have begun and not be synced; of one that is interrupted, no sync comes
Judged = Dict[str, Any]
Words = Tuple[str, str]
Kept = TypeVar("Kept")


def _words(user: Any, assistant: Any) -> Words:
    return cut(user).strip(), cut(assistant).strip()


ANYONES = Begun("", NOBODY, True, "")  # none that has begun


class Finished(NamedTuple):
    """A turn in which the model has had its last word."""

    words: Words
    begun: "Optional[Begun]"
    turn: Ended


class Synced(NamedTuple):
    """A turn that has come to its sync."""

    author: "Optional[Author]"
    begun: "Optional[Begun]"  # None: it is not known when
    turn: "Optional[Ended]"
    judged: "List[Judged]"  # feedback about it that came before
    lost: int  # feedback about turns that now never come


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
        self._finished: "Deque[Finished]" = collections.deque(maxlen=LATE)  # and not synced yet
        self._judged: "List[Tuple[Finished, Judged]]" = []  # about one of those

    # ---- authors

    def speaking(self, owner: Owner) -> "Optional[Author]":
        """The author of the turn that is going on; None when there is none, or it is the owner's."""
        with self.lock:
            last = self._begun[-1] if self._begun else None
            if last is not None and not last.named and self.several(owner):
                return NOBODY  # the host tells it at the sync
            return last.author if last is not None else None

    def noting(self, owner: Owner, aside: bool) -> "Optional[Author]":
        """Whom that which the host notes is about. `aside`: not in the turn that is going on. Then it may be about any turn."""
        with self.lock:
            if self._begun and not aside:
                return self.speaking(owner)
            return self.last_author if not self.several(owner) else NOBODY

    def several(self, owner: Owner) -> bool:
        """More than one author was heard here."""
        with self.lock:
            return len({tuple(owner.member(one).items()) for one in self.authors}) > 1

    def begin(self, message: Any, author: "Optional[Author]", named: bool, key: str) -> None:
        if not is_review(message):
            with self.lock:
                self._begun.append(Begun(normal(message), author, named, key))
                self._heard(author)
                with self.ledger.lock:
                    self.ledger.begin(message)

    def begun(self) -> "List[Begun]":
        with self.lock:
            return list(self._begun)

    def _which(self, user: Any, author: "Optional[Author]", ended: "Optional[Begun]") -> "Optional[Begun]":
        """The turn that has begun which a sync is of; ANYONES: it cannot be told whose of several."""
        text = normal(user)
        fits = [one for one in self._begun if one.text == text] or [one for one in self._begun if alike(one.text, text)]
        if author is not None:
            # A host may name the author only here.
            which = [one for one in fits or self._begun if who(one.author) == who(author)]
            which = which or [one for one in fits if one.author is None]
        elif self._told:
            which = [one for one in fits or self._begun if one.author is None] or fits
        else:
            which = fits or list(self._begun)
        if any(one is ended for one in which):
            return ended
        # Without its words it may be a turn that did not begin here.
        authors = [one.author for one in which] if fits or author is not None else self.authors
        if not which:
            return None
        return ANYONES if len({who(one) for one in authors}) > 1 else which[0]

    def _heard(self, author: "Optional[Author]") -> None:
        self.authors[author] = None
        self.authors.move_to_end(author)
        while len(self.authors) > MAX_SESSIONS:
            self.authors.popitem(last=False)

    def goes_on(self, name: str, before: "Course") -> None:
        with self.lock:
            self.ancestors = [name, *before.ancestors][:MAX_SESSIONS]
            self._begun.extend(before.begun())
            self.last_author = before.last_author
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

    def tool_called(self, name: str, args: Any, result: Any, words: "Dict[str, Any]") -> None:
        with self.lock:
            self.turn.tool_called(name, args, result, words, self._begun[-1] if self._begun else None)

    def finished(self, user: Any, assistant: Any, turn_id: str, thinking: str) -> None:
        """The model has had its last word in a turn; its sync is on the way."""
        if not is_review(user):
            text = normal(user)
            with self.lock:
                begun = next((one for one in reversed(self._begun) if alike(one.text, text)), None)
                begun = begun or (self._begun[-1] if self._begun else None)
                self._finished.append(Finished(_words(user, assistant), begun, self.turn.finished(turn_id, thinking)))

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

    def synced(self, user: Any, assistant: Any, author: "Optional[Author]", kept: "Callable[[], List[Speaker]]") -> Synced:
        """A turn has come to its sync. The worker keeps the order, so those that were finished before it were not to be synced.
        A host that does not name the author here has done so when the turn began, perhaps in a session that was left since:
        `kept` has what is on disk of those. Without any such word it was the owner."""
        words = _words(user, assistant)
        with self.lock:
            self._told = self._told or author is not None
            ended = next((one for one in self._finished if one.words == words), None)
            # A host may have changed a word on the way.
            ended = ended or next((one for one in self._finished if one.words[0] == words[0]), None)
            ended = ended or next((one for one in self._finished if one.words[1] == words[1]), None)
            which = self._which(user, author, ended.begun if ended is not None else None)
            begun = which if which is not ANYONES else None
            if author is None:
                author = which.author if which is not None else _sole(kept(), normal(user))
            if begun is not None:
                while self._begun.popleft() is not begun:
                    pass
                with self.ledger.lock:
                    self.ledger.keep(begun.text)
            self._heard(author)
            self.last_author = author
            if ended is None and self._finished:
                first = self._finished[0]
                ended = first if begun is None or first.begun is None or first.begun is begun else None
            if ended is not None:
                while self._finished.popleft() is not ended:
                    pass
            about = [judged for one, judged in self._judged if one is ended]
            open_ones = [(one, judged) for one, judged in self._judged if any(one is left for left in self._finished)]
            lost = len(self._judged) - len(about) - len(open_ones)
            self._judged = open_ones
            return Synced(author, begun, ended.turn if ended is not None else None, about, lost)

    def messages_of(self, synced: Synced, user: Any, messages: Any) -> "Optional[List[Dict[str, Any]]]":
        """The messages, when they end in this turn: a host may hand on the list to which the turns of others come meanwhile."""
        if not isinstance(messages, list):
            return None
        last = last_user_of(messages)
        other = any(alike(one.text, last) and who(one.author) != who(synced.author) for one in self.begun())
        return None if other and not alike(normal(user), last) else messages


def _sole(speakers: "List[Speaker]", text: str) -> "Optional[Author]":
    """The author of a turn with these words, of those that began and were not synced."""
    authors = {who(one.author): one.author for one in speakers if one.said(text)}
    return NOBODY if len(authors) > 1 else authors.popitem()[1] if authors else None


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
