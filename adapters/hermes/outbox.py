"""Turns on their way into the store: on disk before sync_turn returns, stored exactly once, in order.

Each host process has a folder of its own below the data home's queue, with one file per item and a lock on it. An item's
file goes when the store has answered that it is durable. What a killed host left is taken up by the next process whose helper
answers, which the kernel's lock allows only when the owner is dead, and given back when it cannot be stored. An item that was
stored, but whose answer was lost, is sent again as it was.

No thread: answers come by callbacks of the library, and each sends the next.
"""

from __future__ import annotations

import contextvars
import threading
import time
from typing import Any, Callable, Dict, Optional

from .delivery import Ask, Dropped, Opened, Steps, opening, steps
from .lineup import Lineup
from .once import HELD, topic_of
from .spool import Full, Item, Spool, Torn

# Codes of the contract for what no later try can change; what is not found is opened again first.
_PERMANENT = ("session_not_found", "episode_not_found", "trace_not_found", "invalid_argument", "protocol_error")
_CLOSED, _SUPERSEDED, _CANCELLED = 18, 5, 21
# Answered by a store that is open, and by nothing else.
_ANSWERS = Ask("memory.list_episodes", {"limit": 0})


class Outbox:
    REOPENED = 3  # times for one item
    LOST_IN_A_ROW = 20  # transports; then the next call of the host tries again
    A_FEW = 50  # items, which take milliseconds

    def __init__(self, folder: str, open_hold: "Callable[[], Any]", package: Any, once: Any) -> None:
        self._spool = Spool(folder)
        self._open_hold = open_hold
        self._package = package
        self.once = once
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._line = Lineup()
        self._last_ts = 0
        self._set_aside = 0  # of own items: what no store could take
        # Of the host's thread that asked last: whom its log and its settings belong to is told by the context.
        self._context = contextvars.copy_context()
        self._closing = False
        # Of a round of sending, which goes on until nothing waits or something fails:
        self._sending = False
        self._answering = False  # the store has answered
        self._looked = False  # for what dead processes left
        self._hold: Any = None
        self._generation = 0
        self._opened: Opened = set()
        self._lost = 0
        # Of the item in hand:
        self._item: "Optional[Item]" = None
        self._body: "Dict[str, Any]" = {}
        self._steps: "Optional[Steps]" = None
        self._reopened = 0

    # ---- for providers

    def put(
        self, kind: str, session: "Dict[str, Any]", params: "Dict[str, Any]", about: "Optional[int]" = None,
        replaces: "Optional[Dict[str, Any]]" = None, times: int = 1,
    ) -> int:
        """Durable when it returns. The time names the item, for feedback about it; with `times` that many from it on are its
        own. Raises Full or OSError: not kept."""
        with self._lock:
            ts = max(int(time.time() * 1000), self._last_ts + 1)  # never two of one time
            body = {"kind": kind, "session": session, "params": params, "ts": ts, "about": about}
            if replaces:
                body["replaces"] = replaces
            item = self._spool.add(ts, str(session["id"]), body)
            self._last_ts = ts + times - 1
            self._line.add(item)
            self._context = contextvars.copy_context()
            self._closing = False
            self._pump()
            return ts

    def kick(self) -> None:
        """Something may have changed: takes up what dead processes left, and goes on sending."""
        with self._lock:
            self._context = contextvars.copy_context()
            self._closing = False
            self._looked = False
            self._pump()

    def wait_stored(self, within: float) -> bool:
        """Waits until everything that this process has put so far is stored; False when it is not, or a part of it never will
        be."""
        with self._lock:
            until = self._last_ts
            refused = self._set_aside

        def waits() -> bool:
            item = self._item
            return self._line.waits(until) or (item is not None and item.folder.own and item.ts <= until)

        self._wait_for(lambda: not waits() or not self._sending, within)
        with self._lock:
            return not waits() and self._set_aside == refused

    def wait_empty(self, within: float) -> bool:
        """Waits until everything is stored, or nothing more happens by itself, or the time is over."""
        self._wait_for(lambda: not self._sending, within)
        return not len(self)

    def _wait_for(self, enough: "Callable[[], bool]", within: float) -> None:
        # Ours already in a finalizer, while this very thread is at work here: nothing moves on before it is through.
        if not self._lock._is_owned():  # type: ignore[attr-defined] # as Condition asks it
            with self._settled:
                self._settled.wait_for(enough, within)

    def wait_said(self, within: float) -> None:
        """As wait_empty(), and no longer than until what was said in this process is stored when dead ones left a lot."""

        def enough() -> bool:
            own = self._line.own + (self._item is not None and self._item.folder.own)
            return not self._sending or (not own and len(self._line) > self.A_FEW)

        self._wait_for(enough, within)

    def __len__(self) -> int:
        with self._lock:
            return len(self._line) + (self._item is not None)

    def release(self) -> None:
        """The last provider is gone: lets go of the helper. What is not stored yet stays on disk."""
        with self._lock:
            self._closing = True
            hold, self._hold = self._hold, None
            if not len(self):
                self._spool.close()
        if hold is not None:
            hold.close()

    # ---- a round; the lock is held

    def _pump(self) -> None:
        if not self._sending and not self._closing:
            self._safely(self._begin)

    def _begin(self) -> None:
        if not len(self._line) and not self._left_by_others():
            return
        self._sending, self._answering, self._looked, self._lost = True, False, False, 0
        self._next()

    def _left_by_others(self) -> bool:
        try:
            return self._spool.others()
        except OSError as error:
            self._unread(f"{self._spool.folder} cannot be read ({error})")
            return False

    def _safely(self, act: "Callable[[], Any]") -> None:
        """Whatever fails (a disk that cannot be written, say) must not leave it sending for ever."""
        try:
            act()
        except Exception as error:  # noqa: B902 - the turns stay on disk
            self._stop(error)

    def _next(self) -> None:
        """Takes the next item in hand, and makes its first request."""
        if not self._looked:
            # A host that cannot store must not keep others from what it cannot store.
            if not self._answering and self._left_by_others():
                return self._request(_ANSWERS)
            self._take_up()
        again = True
        while not self._closing:
            self._item = self._line.next(self._spool.is_ahead)
            if self._item is not None:
                if self._load(self._item):
                    self._reopened = 0
                    return self._from_the_start()
                self._item, again = None, True
            elif again and self._line.look_again():
                again = False  # those ahead may have come through, or their process is gone
                self._take_up()
            else:
                break
        self._stop(None)

    def _take_up(self) -> None:
        self._looked = True
        try:
            self._line.take_up(self._spool.adopt())
        except OSError as error:
            return self._unread(f"{self._spool.folder} cannot be read ({error})")
        self._unread(self._spool.unread)

    def _unread(self, why: str) -> None:
        if why:
            self.once.warn("adopt", f"{why}; turns that wait there stay there. See that it can be read and written")
        else:
            self.once.well("adopt")

    def _load(self, item: Item) -> bool:
        try:
            self._body = self._spool.read(item)
            return True
        except FileNotFoundError:
            self._spool.remove(item)  # by hand
        except Torn as torn:
            self.once.warn(
                "torn", f"a turn that waited is no turn any more: {torn}; it was set aside as {self._spool.set_aside(item)}"
            )
        except OSError as error:
            self._unread(f"{item.path} cannot be read ({error})")  # it stays where it is, and so does its folder
        return False

    def _from_the_start(self) -> None:
        self._steps = steps(self._body, self._opened)
        self._go_on(None)

    def _go_on(self, answer: Any) -> None:
        if self._steps is None:  # no item was in hand: the store was only asked whether it answers
            return self._next()
        try:
            ask = self._steps.send(answer)
        except StopIteration:
            if self._body["kind"] == "feedback":
                self.once.well("feedback")
            else:
                self.once.well("queue")
                self.once.well("set-aside")
            return self._done()
        except Dropped as why:
            self.once.warn("feedback", str(why))
            return self._done()
        self._request(ask)

    def _done(self) -> None:
        self._lost = 0
        if self._item is not None:
            self._spool.remove(self._item)
        self._item = self._steps = None
        self._settled.notify_all()
        self._next()

    def _stop(self, error: Any) -> None:
        """The end of a round. After an error nothing more happens by itself: the next call of the host tries again."""
        self._sending = False
        if self._item is not None:
            self._line.put_back(self._item)
        waiting = len(self._line)
        self._item = self._steps = None
        self._line.give_back()
        self._spool.give_back()
        hold, self._hold = self._hold, None
        self._opened.clear()  # without a hold the helper may end, and the next one has its generations from 1
        self.once.well("torn")
        self._settled.notify_all()
        if error is not None and waiting and not self._closing:
            self.once.warn(
                topic_of(error, "queue"),
                f"turns cannot be stored now ({error}); {waiting} wait on disk in {self._spool.folder} and are stored when it "
                "works again. See: holdfast hermes status, holdfast logs hermes-memory",
            )
        if self._closing and not waiting:
            self._spool.close()
        if hold is not None:
            hold.close()  # providers have their own; without any, this ends the helper

    # ---- one request

    def _request(self, ask: Ask) -> None:
        def then(error: "Optional[Exception]", result: Any, answered_by: int) -> None:
            with self._lock:
                # A copy: one context cannot be entered twice at the same time.
                self._context.copy().run(self._safely, lambda: self._answered(ask, error, result, answered_by))

        if self._closing:
            return self._stop(None)
        if self._hold is None:
            self._hold = self._open_hold()
            self.once.well(HELD)
        # No time-out: a store that takes long to open is waited for, a wedged helper is replaced by the supervisor.
        self._hold.request_then(
            ask.method, ask.params, then, timeout=None, idempotent=ask.idempotent and not ask.pinned,
            generation=self._generation if ask.pinned else 0,
        )

    def _answered(self, ask: Ask, error: Any, result: Any, answered_by: int) -> None:
        if isinstance(error, self._package.RemoteError):
            return self._refused(error)
        if error is not None:
            code = getattr(error, "code", None)
            if code in (_CLOSED, _SUPERSEDED, _CANCELLED) and self._hold is not None:
                return self._lost_it(error)  # the helper died, or was replaced
            return self._stop(error)
        self._answering = True
        if ask.method == "session.open" and answered_by != self._generation:
            self._opened.clear()
            self._generation = answered_by
        self._go_on(result)

    def _lost_it(self, error: Any) -> None:
        """Everything about this item again."""
        self._lost += 1
        if self._closing or self._lost > self.LOST_IN_A_ROW:
            return self._stop(error)
        self._opened.clear()
        if self._item is None:
            return self._next()
        self._from_the_start()

    def _refused(self, error: Any) -> None:
        data = error.data if isinstance(error.data, dict) else {}
        word = str(data.get("code") or "")
        if word == "transport_closed":
            return self._lost_it(error)  # its owner died in another process, and has a successor
        if self._item is None or word not in _PERMANENT:
            return self._stop(error)  # it may pass: a full disk, a store that cannot be opened
        if word.endswith("_not_found"):
            if self._body["kind"] in ("close", "forget"):
                return self._done()  # nothing was ever said in it, or it is gone already
            if self._body["kind"] == "feedback":
                self.once.warn("feedback", f"feedback on a turn that was never stored was dropped ({error})")
                return self._done()
            self._reopened += 1
            if self._reopened <= self.REOPENED:
                self._opened.clear()
                return self._from_the_start()
        if self._item.folder.own:
            self._set_aside += 1
        path = self._spool.set_aside(self._item)
        self.once.warn("set-aside", f"the store refused a turn ({error}); it was set aside as {path}")
        self._item = self._steps = None
        self._next()


__all__ = ["Full", "Outbox", "opening"]
