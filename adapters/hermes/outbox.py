"""Turns on their way into the store: on disk before sync_turn returns, stored exactly once, in order.

Each host process has a folder of its own below the data home's queue, with one file per item and a lock on it. An item's
file goes when the store has answered that it is durable. What a killed host left is taken up by the next process that looks,
which the kernel's lock allows only when the owner is dead. An item that was stored, but whose answer was lost, is sent again
as it was: same session, episode, time and text, for which the store gives back the trace that is there.

No thread: answers come by callbacks of the library, and each sends the next.
"""

from __future__ import annotations

import collections
import threading
import time
from typing import Any, Callable, Deque, Dict, List, Optional, Set, Tuple

from .spool import Full, Item, Spool

# Codes of the contract that mean "open it again".
_UNKNOWN = ("session_not_found", "episode_not_found")
_CLOSED, _SUPERSEDED, _CANCELLED = 18, 5, 21


def opening(session: "Dict[str, Any]") -> "Dict[str, Any]":
    """The words for session.open, of a session as an item has it."""
    words = {"agent": session["agent"], "sessionId": session["id"], "namespace": session["namespace"]}
    if session.get("meta"):
        words["meta"] = session["meta"]
    return words


class Outbox:
    TRIES = 20  # of one item that the store refuses for a reason that may pass; then it is set aside
    LOST_IN_A_ROW = 8  # transports; then the next call of the host tries again

    def __init__(self, folder: str, open_hold: "Callable[[], Any]", package: Any, once: Any) -> None:
        self._spool = Spool(folder)
        self._open_hold = open_hold
        self._package = package
        self._once = once
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._items: "Deque[Item]" = collections.deque()
        self._hold: Any = None
        self._sending = False
        self._closing = False
        self._opened: "Set[Tuple[str, str]]" = set()
        self._generation = 0
        self._lost = 0
        self._last_ts = 0
        self._traces: "collections.OrderedDict[str, str]" = collections.OrderedDict()

    # ---- for providers

    def put(self, kind: str, session: "Dict[str, Any]", params: "Dict[str, Any]", about: str = "") -> str:
        """Durable when it returns. The key names the item, for feedback on it. Raises Full or OSError: not kept."""
        with self._lock:
            self._last_ts = max(int(time.time() * 1000), self._last_ts + 1)  # never two of one time
            body: "Dict[str, Any]" = {"kind": kind, "session": session, "params": params, "ts": self._last_ts}
            if kind == "feedback":
                body.update(about=about, trace=self._traces.get(about, ""))
            item = self._spool.add(body)
            self._items.append(item)
            self._closing = False
            self._pump()
            return item.key

    def kick(self) -> None:
        """Something may have changed: takes up what dead processes left, and goes on sending."""
        with self._lock:
            self._closing = False
            try:
                taken = self._spool.adopt()
                self._once.well("adopt")
            except OSError as error:
                taken = []
                self._once.warn("adopt", f"{self._spool.folder} cannot be read ({error}); turns that wait there stay there")
            at = 1 if self._sending else 0
            for item in reversed(taken):
                self._items.insert(at, item)
            self._pump()

    def wait_empty(self, within: float) -> bool:
        """Waits until everything is stored, or nothing more happens by itself, or the time is over."""
        with self._settled:
            self._settled.wait_for(lambda: not self._items or not self._sending, within)
            return not self._items

    def trace_of(self, key: str) -> str:
        with self._lock:
            return self._traces.get(key, "")

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)

    def release(self) -> None:
        """The last provider is gone: lets go of the helper. What is not stored yet stays on disk."""
        with self._lock:
            self._closing = True
            hold, self._hold = self._hold, None
            if not self._items:
                self._spool.close()
        if hold is not None:
            hold.close()

    # ---- sending; the lock is held

    def _pump(self) -> None:
        if self._sending or self._closing or not self._items:
            return
        self._lost = 0
        self._sending = True
        self._safely(self._step)

    def _safely(self, act: "Callable[[], Any]") -> None:
        """Whatever fails (a disk that cannot be written, say) must not leave it sending for ever."""
        try:
            act()
        except Exception as error:  # noqa: B902 - the turns stay on disk
            self._pause(error)

    def _step(self) -> None:
        """The next request for the first item: open its session, open its episode, send it."""
        item = self._items[0]
        session = item.body["session"]
        name, episode = str(session["id"]), str(item.body["params"].get("episodeId") or "")
        kind = item.body["kind"]
        if kind in ("turn", "subagent", "note"):
            if (name, "") not in self._opened:
                return self._request("session.open", opening(session), 0, lambda: self._opened.add((name, "")))
            if (name, episode) not in self._opened:
                words = {"sessionId": name, "episodeId": episode}
                return self._request("episode.open", words, self._generation, lambda: self._opened.add((name, episode)))
        params = {**item.body["params"], "ts": item.body["ts"]}
        if kind == "feedback":
            return self._judge(item, params)
        if kind == "close":
            return self._request("session.close", {"sessionId": name}, 0, self._stored)
        method = "subagent.record" if kind == "subagent" else "turn.end"
        self._request(method, params, self._generation, self._stored)

    def _judge(self, item: Item, params: "Dict[str, Any]") -> None:
        """Feedback has no identity in the store, so one that may have arrived before is looked for first."""
        trace = str(item.body.get("trace") or "")
        if not trace:
            self._once.warn("feedback", "feedback on a turn that was never stored was dropped")
            return self._stored()
        if item.maybe_sent:
            item.maybe_sent = False

            def looked(found: Any) -> None:
                known: "List[Dict[str, Any]]" = (found or {}).get("feedback") or []
                if any(one.get("ts") == params["ts"] for one in known):
                    self._stored()
                else:
                    self._step()

            return self._request("memory.get_trace", {"id": trace}, 0, None, looked)
        item.maybe_sent = True
        self._request("feedback.submit", {**params, "traceId": trace}, 0, self._stored, idempotent=False)

    def _request(
        self,
        method: str,
        params: "Dict[str, Any]",
        generation: int,
        done: "Optional[Callable[[], Any]]",
        use: "Optional[Callable[[Any], Any]]" = None,
        idempotent: bool = True,
    ) -> None:
        def then(error: "Optional[Exception]", result: Any, answered_by: int) -> None:
            with self._lock:
                self._safely(lambda: self._answered(method, error, result, answered_by, done, use))

        try:
            if self._hold is None:
                self._hold = self._open_hold()
            # No time-out: a store that takes long to open is waited for, a wedged helper is replaced by the supervisor.
            self._hold.request_then(
                method, params, then, timeout=None, idempotent=idempotent and generation == 0, generation=generation
            )
        except Exception as error:  # noqa: B902 - whatever it is, the turns stay on disk
            self._pause(error)

    def _answered(self, method: str, error: Any, result: Any, answered_by: int, done: Any, use: Any) -> None:
        if error is not None:
            self._failed(error)
        else:
            self._lost = 0
            if method == "session.open" and answered_by != self._generation:
                self._opened.clear()
                self._generation = answered_by
            self._once.well("queue")
            if use is not None:
                use(result)
                return
            if method in ("turn.end", "subagent.record"):
                self._remember(self._items[0].key, str((result or {}).get("traceId") or ""))
            if done is not None:
                done()
            if done == self._stored:
                return
            self._step()

    def _remember(self, key: str, trace: str) -> None:
        """Before the turn's file goes: feedback that waits behind it learns whom it judges, on disk."""
        self._traces[key] = trace
        while len(self._traces) > 1000:
            self._traces.popitem(last=False)
        for item in self._items:
            if item.body["kind"] == "feedback" and item.body.get("about") == key and not item.body.get("trace"):
                item.body["trace"] = trace
                self._spool.rewrite(item)

    def _stored(self) -> None:
        self._spool.remove(self._items.popleft())
        if self._items and not self._closing:
            return self._step()
        self._sending = False
        hold, self._hold = self._hold, None
        self._opened.clear()  # without a hold the helper may end, and the next one has its generations from 1
        self._settled.notify_all()
        if hold is not None:
            hold.close()  # providers have their own; without any, this ends the helper

    def _failed(self, error: Any) -> None:
        code = getattr(error, "code", None)
        if isinstance(error, self._package.RemoteError):
            return self._refused(error)
        if code in (_CLOSED, _SUPERSEDED, _CANCELLED) and not self._closing and self._hold is not None:
            # The helper died, or was replaced: everything about this item again, on the next one.
            self._opened.clear()
            self._lost += 1
            if self._lost <= self.LOST_IN_A_ROW:
                return self._step()
        self._pause(error)

    def _refused(self, error: Any) -> None:
        item = self._items[0]
        data = error.data if isinstance(error.data, dict) else {}
        word = str(data.get("code") or "")
        item.tries += 1
        if word in _UNKNOWN and item.body["kind"] == "close":
            return self._stored()  # nothing was ever said in it
        if (word in _UNKNOWN and item.tries <= 3) or (word == "transport_closed" and item.tries < self.TRIES):
            # The store does not know it yet, or its owner died in another process and has a successor: all of it again.
            self._opened.clear()
            return self._step()
        if word == "invalid_argument" or word in _UNKNOWN or word == "trace_not_found" or item.tries >= self.TRIES:
            path = self._spool.set_aside(item)
            self._once.warn("set-aside " + word, f"the store refused a turn ({error}); it was set aside as {path}")
            self._items.popleft()
            if self._items and not self._closing:
                return self._step()
            error = None
        self._pause(error)

    def _pause(self, error: Any) -> None:
        """Nothing more by itself: the next call of the host tries again."""
        self._sending = False
        hold, self._hold = self._hold, None
        self._opened.clear()
        self._settled.notify_all()
        if error is not None and not self._closing:
            self._once.warn(
                "queue",
                f"turns cannot be stored now ({error}); {len(self._items)} wait on disk in {self._spool.folder} and are "
                "stored when it works again. See: holdfast hermes status, holdfast events",
            )
        if hold is not None:
            hold.close()


__all__ = ["Full", "Outbox", "opening"]
