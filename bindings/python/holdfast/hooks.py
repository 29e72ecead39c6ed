"""Host hooks: lists of callbacks that a host keeps, may rebuild at any time, and calls with a session somewhere in the
arguments.

    router = holdfast.HookRouter(session_of=lambda *args, **kw: kw.get("session_id"))
    router.install("post_tool_call", manager.hooks["post_tool_call"])   # as often as you like
    router.listen("post_tool_call", session_id, provider.on_tool_call)  # does not keep the provider alive

One dispatcher per live list, however often install() is called; a list that the host rebuilt gets it again. An event goes
to the newest living listener of its session, and to nobody else. An event that names no session goes to the only session
that listens; when several do, it is dropped, counted and warned about. A bound method is held weakly; any other function is
kept until unlisten() or forget().
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Dict, List, MutableSequence, Optional

from ._support import WeakCallable

_log = logging.getLogger("holdfast")


class _Dispatcher:
    """What stands in the host's list. Equal only to itself, so its presence can be asked of the list."""

    def __init__(self, router: "HookRouter", hook: str) -> None:
        self._router = router
        self._hook = hook

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._router.dispatch(self._hook, *args, **kwargs)


class HookRouter:
    """`session_of(*args, **kwargs)` finds the session in the arguments of a hook; None when they do not tell."""

    def __init__(self, session_of: "Callable[..., Optional[str]]") -> None:
        self._session_of = session_of
        # Entered again by a signal handler, or by the collector, whose finalizers may forget a session on a thread that has
        # it. So whatever is changed here is built first and put in its place then.
        self._lock = threading.RLock()
        self._dispatchers: "Dict[str, _Dispatcher]" = {}
        self._listeners: "Dict[str, Dict[str, List[WeakCallable]]]" = {}
        self.dropped_ambiguous = 0
        self.unheard = 0

    def install(self, hook: str, hooks: "MutableSequence[Any]") -> bool:
        """Puts the dispatcher into the list unless it is there; says whether it had to. The list itself is asked, because
        the host may have rebuilt it."""
        with self._lock:
            dispatcher = self._dispatchers.setdefault(hook, _Dispatcher(self, hook))
            if any(one is dispatcher for one in hooks):
                return False
            hooks.append(dispatcher)
            return True

    def uninstall(self, hook: str, hooks: "MutableSequence[Any]") -> bool:
        with self._lock:
            dispatcher = self._dispatchers.get(hook)
            for index, one in enumerate(hooks):
                if one is dispatcher:
                    del hooks[index]
                    return True
            return False

    def listen(self, hook: str, session: str, function: "Callable[..., Any]") -> None:
        """A bound method does not keep its object alive, anything else is kept; the newest listener of a session is the one
        that hears."""
        new = WeakCallable(function)
        with self._lock:
            sessions = self._listeners.setdefault(hook, {})
            while True:
                before = sessions.get(session)
                after = [one for one in before or () if one.get() is not None] + [new]
                if sessions.get(session) is before:  # else a finalizer came in between, and has forgotten it
                    sessions[session] = after
                    return

    def unlisten(self, hook: str, session: str, function: "Callable[..., Any]") -> None:
        """Takes one listener back; others of that session stay."""
        with self._lock:
            sessions = self._listeners.get(hook, {})
            while True:
                before = sessions.get(session)
                left = [one for one in before or () if one.get() not in (None, function)]
                if sessions.get(session) is not before:
                    continue
                if left:
                    sessions[session] = left
                else:
                    sessions.pop(session, None)
                return

    def forget(self, session: str) -> None:
        """The session is over, for all hooks."""
        gone = []  # until we are out of here: with a listener may go what it alone kept
        with self._lock:
            for sessions in list(self._listeners.values()):
                gone.append(sessions.pop(session, None))

    def _find(self, hook: str, session: "Optional[str]") -> "Optional[Callable[..., Any]]":
        with self._lock:
            sessions = self._listeners.get(hook, {})
            living: "Dict[str, Callable[..., Any]]" = {}
            for name, listeners in list(sessions.items()):
                newest = next((found for found in (one.get() for one in reversed(listeners)) if found is not None), None)
                if newest is not None:
                    living[name] = newest
                elif sessions.get(name) is listeners:
                    sessions.pop(name, None)
            if session is not None:
                found = living.get(session)
                self.unheard += found is None
                return found
            if len(living) == 1:
                return next(iter(living.values()))
            if not living:
                self.unheard += 1
                return None
            self.dropped_ambiguous += 1
            count = self.dropped_ambiguous
        _log.warning(
            "an event of the hook %s names no session and %d sessions listen; it was dropped (%d so far)",
            hook,
            len(living),
            count,
        )
        return None

    def dispatch(self, hook: str, *args: Any, **kwargs: Any) -> Any:
        """What the host calls, through the dispatcher. Returns what the listener returns; None when there is none."""
        listener = self._find(hook, self._session_of(*args, **kwargs))
        return None if listener is None else listener(*args, **kwargs)
