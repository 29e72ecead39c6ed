"""What one provider has of the helper: a hold, and its sessions on it."""

from __future__ import annotations

import collections
import contextlib
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .author import NOBODY, Author, Owner
from .course import Course, Courses, Record, Synced
from .delivery import opening
from .locks import ProcessLock
from .once import HELD, once
from .outbox import Outbox
from .settings import Places
from .shared import HOOKS, Shared, helper_options
from .speakers import Speaker, Speakers
from .words import normal

AGENT = "hermes"
MAX_CONVERSATIONS = 256
LEFT = 8  # sessions that a conversation had before, in which the sync of a turn may still come


AGAIN = 20  # times; each needs an owner that dies between reading a request and answering it


def again(ask: "Callable[[float], Any]", deadline: float) -> Any:
    """Asks; and once more, as long as there is time, when the store went with its owner in another process. What is sent then
    waits in the pipe until the successor reads it, and there until the store is open: nothing has to be waited for here."""
    for left_over in range(AGAIN, -1, -1):
        try:
            return ask(max(0.1, deadline - time.monotonic()))
        except Exception as error:  # noqa: B902 - raised again unless it is that one
            data = getattr(error, "data", None)
            lost = isinstance(data, dict) and data.get("code") == "transport_closed"
            if not lost or not left_over or time.monotonic() > deadline:
                raise
    return None


class Conversation:
    """One session of the host, as one provider sees it, and of one author. Of a context other than the user's, and of each author
    where users are kept apart, it has a name of its own in the store, so that not even a session id that is used twice can
    bring them together."""

    def __init__(self, id: str, course: Course, record: Record, namespace: "Dict[str, str]", meta: "Dict[str, str]") -> None:
        self.id = id
        self.course = course
        self.record = record
        self.meta = dict(meta)
        self.namespace = namespace
        self.handle: Any = None

    def for_queue(self) -> "Dict[str, Any]":
        return {"id": self.id, "agent": AGENT, "namespace": self.namespace, "meta": self.meta}


def _opener(words: "Dict[str, Any]") -> "Callable[[Any], None]":
    # Holds on to nothing but words, so that the library's callback keeps no provider alive.
    def opened(on: Any) -> None:
        on.request("session.open", words, timeout=6.0)

    return opened


class Link:
    def __init__(self, shared: Shared, where: Places, context: str, owner: Owner) -> None:
        self.shared = shared
        self.where = where
        self.context = context
        self.owner = owner
        self.outbox: Outbox = shared.outbox(where, helper_options)
        self.outbox.once = once  # those that use it now are told, and once: it may belong to another copy of the plugin
        self.courses: Courses = shared.courses(where)
        self._speakers = Speakers(where.speakers)
        self._lock = ProcessLock()
        self.meta: "Dict[str, str]" = {}
        self.ready_on = 0  # the generation of which it is known that it owns the store and has opened it: that stays so
        self._hold: Any = None
        self._conversations: "collections.OrderedDict[Tuple[str, str], Conversation]" = collections.OrderedDict()

    def hold(self, serve: "Optional[Callable[[str, Any], Any]]" = None) -> Any:
        """Ours; a new one when we have none. `serve` answers the helper's requests for a model."""
        with self._lock:
            if self._hold is None or self._hold.closed:
                self._forget_handles()
                hold = self.shared.hold(self.where, helper_options)
                once.well(HELD)
                if serve is not None:
                    hold.serve("host.llm.complete", serve)
                self._hold = hold
            return self._hold

    def drop_hold(self) -> None:
        with self._lock:
            hold, self._hold = self._hold, None
            self._forget_handles()
        if hold is not None:
            hold.close()

    def _forget_handles(self) -> None:
        self.ready_on = 0
        for one in list(self._conversations.values()):
            one.handle = None

    @property
    def namespace(self) -> "Dict[str, str]":
        """Of the session's owner."""
        return self._namespace(self.owner.member(None))

    def _namespace(self, member: "Dict[str, str]") -> "Dict[str, str]":
        return {"agentKind": AGENT, "context": self.context, **member}

    def name_of(self, name: str) -> str:
        """Of a session of the host, without an author."""
        return name if self.context == "primary" else f"{name}#{self.context}"

    def id_of(self, name: str, member: "Dict[str, str]") -> str:
        """The name that a session of the host has in the store."""
        own = "".join(f"#{kind}={which}" for kind, which in member.items())
        return self.name_of(name) + own if own else self.name_of(name)

    def course(self, name: str) -> Course:
        return self.courses.of(self.id_of(name, self.owner.member(None)))

    def conversation(self, name: str, author: "Optional[Author]" = None) -> Conversation:
        return self._conversation(name, self.owner.member(author))

    def current(self, name: str) -> Conversation:
        """Of the author of the turn that is going on."""
        return self.conversation(name, self.course(name).speaking(self.owner))

    def noted(self, name: str, aside: bool = False) -> Conversation:
        """For what the host notes; `aside`: not in the turn that is going on."""
        return self.conversation(name, self.course(name).noting(self.owner, aside))

    # ---- who is speaking

    def _place(self, name: str) -> str:
        """Of a session of the host, whoever its owner is in this process."""
        return f"{self.owner.platform}#{name}"

    def begin(self, name: str, message: Any, author: "Optional[Author]", named: bool) -> None:
        """A turn begins. Where it matters who its author is, that is written down before. `named`: the host says who it is."""
        key = ""
        if author is not None or (self.owner.apart and named):
            try:
                key = self._speakers.begin(self._place(self.name_of(name)), normal(message), self.owner.writer(author))
                once.well("speakers")
            except OSError as error:
                once.warn("speakers", f"who is speaking cannot be written down ({error}); what is said in a turn that is "
                          f"interrupted may be shown to nobody. See that {self.where.speakers} can be written")
        self.course(name).begin(message, author, named, key)

    def speakers(self, name: str) -> "List[Speaker]":
        """Of the turns that have begun, in this process or before it, and whose sync has not come."""
        try:
            found = self._speakers.of(self._place(self.name_of(name)))
        except OSError as error:
            once.warn("speakers", f"{self.where.speakers} cannot be read ({error}); what is said in a turn that is interrupted "
                      "may be shown to nobody. See that it can be read")
            return []
        # The owner of a session may have no id, but not in one session and have one in the next.
        return [one if one.author is not None or not self.owner.ids else one._replace(author=NOBODY) for one in found]

    def spoken(self, name: str, keys: "List[str]") -> None:
        """Turns whose author is known elsewhere by now."""
        for place in [self.name_of(name), *self.course(name).ancestors[:LEFT]]:
            for key in keys:
                self._speakers.end(self._place(place), key)

    def synced(self, name: str, user: Any, assistant: Any, author: "Optional[Author]") -> Synced:
        return self.course(name).synced(user, assistant, author, lambda: self.speakers(name))

    def stored(self, name: str, user: Any, synced: Synced) -> None:
        """A turn that was synced is on its way: nobody has to remember any more who wrote it."""
        if synced.begun is not None:
            self.spoken(name, [synced.begun.key] if synced.begun.key else [])
        elif synced.author is not None:
            text, member = normal(user), self.owner.member(synced.author)
            known = [one.key for one in self.speakers(name) if one.said(text) and self.owner.member(one.author) == member]
            self.spoken(name, known[:1])

    def _conversation(self, name: str, member: "Dict[str, str]") -> Conversation:
        store_id = self.id_of(name, member)
        with self._lock:
            found = self._conversations.get((name, store_id))
            if found is None:
                course, record = self.course(name), self.courses.record(store_id)
                meta = {**self.meta, **({"parentSessionId": course.ancestors[0]} if course.ancestors else {})}
                found = Conversation(store_id, course, record, self._namespace(member), meta)
                self._conversations[name, store_id] = found
                while len(self._conversations) > MAX_CONVERSATIONS:
                    self._conversations.popitem(last=False)
            else:
                with contextlib.suppress(KeyError):  # forgotten since, by a finalizer on this thread
                    self._conversations.move_to_end((name, store_id))
            return found

    def forget(self, name: str) -> "Tuple[Course, List[Conversation]]":
        """The session was left, in this process; returns what there was of it, of every author that was heard."""
        course = self.course(name)
        members = [self.owner.member(author) for author in dict.fromkeys([None, *course.authors])]
        gone = {one.id: one for one in (self._conversation(name, member) for member in members)}
        with self._lock:
            for store_id in gone:
                self._conversations.pop((name, store_id), None)
        self.courses.forget(self.id_of(name, self.owner.member(None)), list(gone))
        return course, list(gone.values())

    def goes_on(self, name: str, before: str) -> None:
        """The host left the session `before` for another."""
        owner = self.owner.member(None)
        self.courses.goes_on(self.id_of(name, owner), self.id_of(before, owner), self.name_of(before))
        with contextlib.suppress(OSError):
            self._speakers.goes_on(self._place(self.name_of(name)), self._place(self.name_of(before)))

    def request(
        self, conversation: Conversation, hold: Any, method: str, params: "Dict[str, Any]", deadline: float, only: int = 0
    ) -> Any:
        """After the session was opened on the generation that it goes to. `only`: no other than this one."""
        handle = conversation.handle
        if handle is None:
            handle = conversation.handle = hold.session(_opener(opening(conversation.for_queue())))
        return again(lambda left: handle.request(method, params, timeout=left, idempotent=only == 0, generation=only), deadline)

    def listen(self, name: str, listener: "Dict[str, Callable[..., Any]]", wanted: bool) -> None:
        """To the host's hooks, for one session; the router holds the listener weakly."""
        for hook in HOOKS:
            self.shared.router.unlisten(hook, name, listener[hook])
            if wanted:
                self.shared.router.listen(hook, name, listener[hook])
