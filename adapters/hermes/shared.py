"""What lives as long as the host process: one supervisor, one queue of turns per data home, one router of host hooks.

It hangs on the binding's module, of which there is one per process however often this plugin is loaded, and it belongs to
one process: the child of a fork makes its own.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from typing import Any, Dict, Optional, Set, cast

from . import binding, settings
from .outbox import Outbox

HOOKS = ("post_tool_call", "post_llm_call", "transform_tool_result")
AT_EXIT = 2.0  # seconds
_ATTRIBUTE = "_hermes_shared"
log = logging.getLogger("holdfast.hermes")


class OnceLog:
    """Each failure is told once; when it is over, and comes again, it is told again."""

    def __init__(self) -> None:
        self._told: "Set[str]" = set()
        self._lock = threading.Lock()

    def warn(self, topic: str, message: str) -> None:
        with self._lock:
            if topic in self._told:
                return
            if len(self._told) > 1000:
                self._told.clear()
            self._told.add(topic)
        log.warning("holdfast: %s", message)

    def well(self, topic: str) -> None:
        with self._lock:
            self._told.discard(topic)


# Not part of Shared: it must work when the binding cannot be loaded.
once = OnceLog()


def _session_of(*_: Any, **words: Any) -> str:
    """An event that names no session belongs to nobody: "" is no session of anybody."""
    return str(words.get("session_id") or "")


def helper_options(where: settings.Places) -> "Dict[str, Any]":
    """The one helper of a data home, as the supervisor wants it said. Equal words, equal helper."""
    program = binding.program("holdfast-memory", "HOLDFAST_MEMORY")
    if program is None:
        raise FileNotFoundError("holdfast-memory is not there; run: holdfast hermes install")
    return {
        "command": [program, "--agent=hermes", "--home=" + where.memory, "--no-viewer"],
        "label": "hermes-memory",
        "health_method": "core.health",
        "errors": "log",
        # What was written before the end of its input gets the time to be committed.
        "stop_plan": "eof:5s,term:5s,kill",
    }


class Shared:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.package: Any = binding.load()
        self.router = self.package.HookRouter(_session_of)
        self._lock = threading.Lock()
        self._supervisor: Any = None
        self._outboxes: "Dict[str, Outbox]" = {}
        self._users: "Dict[str, weakref.WeakSet[Any]]" = {}

    def hold(self, where: settings.Places, options: "Dict[str, Any]") -> Any:
        """A hold on the helper of a data home; starts it if nobody has one yet. The options are the caller's, since this
        may have been made by another copy of the plugin, of another profile."""
        with self._lock:
            if self._supervisor is None:
                self._supervisor = self.package.Supervisor()
                atexit.register(self._at_exit)  # after the supervisor's own, so it runs before that
            supervisor = self._supervisor
        settings.make_private(where)
        return supervisor.hold(**options)

    def outbox(self, where: settings.Places, options: "Dict[str, Any]") -> Outbox:
        with self._lock:
            found = self._outboxes.get(where.queue)
            if found is None:
                found = Outbox(where.queue, lambda: self.hold(where, options), self.package, once)
                self._outboxes[where.queue] = found
            return found

    def _at_exit(self) -> None:
        """A host that ends without a word: what is on its way gets a moment, and the rest is left on disk in silence."""
        if self.pid != os.getpid():
            return
        with self._lock:
            outboxes = list(self._outboxes.values())
        for outbox in outboxes:
            outbox.wait_empty(AT_EXIT)
            outbox.release()

    def joined(self, provider: Any, where: settings.Places) -> None:
        with self._lock:
            self._users.setdefault(where.root, weakref.WeakSet()).add(provider)

    def left(self, provider: Any, where: settings.Places) -> bool:
        """True when it was the last one of its data home."""
        with self._lock:
            users = self._users.get(where.root)
            if users is None:
                return True
            users.discard(provider)
            return len(users) == 0

    def install_hooks(self, hooks: "Optional[Dict[str, Any]]") -> None:
        """As often as one likes: each list of the host gets one dispatcher, a rebuilt list gets it again."""
        if hooks is None:
            return
        for name in HOOKS:
            self.router.install(name, hooks.setdefault(name, []))


def shared() -> Shared:
    """Of this process. Raises ImportError when the package cannot be loaded."""
    package: Any = binding.load()
    found: Any = getattr(package, _ATTRIBUTE, None)
    if found is None or found.pid != os.getpid():
        with _making:
            found = getattr(package, _ATTRIBUTE, None)
            if found is None or found.pid != os.getpid():
                found = Shared()
                setattr(package, _ATTRIBUTE, found)
    return cast(Shared, found)


_making = threading.Lock()


def _after_fork() -> None:
    # A lock that another thread held at the fork would never be let go of here.
    global _making
    _making = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
