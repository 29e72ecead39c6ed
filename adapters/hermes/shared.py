"""What lives as long as the host process: one supervisor, one queue of turns per data home, one router of host hooks.

It hangs on the binding's module, of which there is one per process however often this plugin is loaded, and it belongs to
one process: the child of a fork makes its own.
"""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Callable, Dict, NamedTuple, Optional, cast

from . import binding, settings
from .course import Courses
from .locks import ProcessLock
from .once import HELD, about, once
from .outbox import Outbox

HOOKS = ("post_tool_call", "post_llm_call", "transform_tool_result")
AT_EXIT = 2.0  # seconds
PROGRAM, VARIABLE = "holdfast-memory", "HOLDFAST_MEMORY"
# Of this make: one that is made otherwise has another name, so that two copies of the plugin never misunderstand each other.
_ATTRIBUTE = "_hermes_shared_3"
Options = Dict[str, Any]


def _session_of(*_: Any, **words: Any) -> str:
    """An event that names no session belongs to nobody: "" is no session of anybody."""
    return str(words.get("session_id") or "")


def helper_options(where: settings.Places) -> Options:
    """The one helper of a data home, as the supervisor wants it said. Equal words, equal helper."""
    program = binding.program(PROGRAM, VARIABLE)
    return {
        "command": [program, "--agent=hermes", "--home=" + where.memory, "--no-viewer"],
        "label": "hermes-memory",
        "health_method": "core.health",
        "errors": "log",
        # What was written before the end of its input gets the time to be committed.
        "stop_plan": "eof:5s,term:5s,kill",
    }


class _Chosen(NamedTuple):
    """The helper that a data home has in this process."""

    options: Options
    wish: "Optional[str]"  # of the user, when it was chosen

    def still(self) -> bool:
        return self.wish == os.environ.get(VARIABLE) and os.access(self.options["command"][0], os.X_OK)


def _router_of(package: Any) -> Any:
    """The host's lists go with a fork, and so does what we put there; it is silent in the child."""
    router = package.HookRouter(_session_of)
    dispatch, pid = router.dispatch, os.getpid()
    router.dispatch = lambda *args, **words: dispatch(*args, **words) if os.getpid() == pid else None
    return router


class Shared:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.package: Any = binding.load()
        self.router = _router_of(self.package)
        self._lock = ProcessLock()
        self._supervisor: Any = None
        self._chosen: "Dict[str, _Chosen]" = {}
        self._newest: "Dict[str, Callable[[settings.Places], Options]]" = {}
        self._outboxes: "Dict[str, Outbox]" = {}
        self._courses: "Dict[str, Courses]" = {}
        self._users: "Dict[str, weakref.WeakSet[Any]]" = {}

    def hold(self, where: settings.Places, wanted: "Callable[[settings.Places], Options]") -> Any:
        """A hold on the helper of a data home; starts it if nobody has one yet. `wanted` is the caller's, who may belong to
        another copy of the plugin than this; the helper that was chosen first stays, as long as it can be run."""
        with about(HELD):
            return self._take(where, wanted)

    def _take(self, where: settings.Places, wanted: "Callable[[settings.Places], Options]") -> Any:
        settings.make_private(where)
        with self._lock:
            supervisor = self._supervisor or self.package.Supervisor()
            if self._supervisor is None:
                self._supervisor = supervisor
                atexit.register(self._at_exit)  # after the supervisor's own, so it runs before that
            supervisor = self._supervisor
            chosen = self._chosen.get(where.memory)
            if chosen is None or not chosen.still():
                chosen = self._chosen[where.memory] = _Chosen(wanted(where), os.environ.get(VARIABLE))
        return supervisor.hold(**chosen.options)

    def choose_again(self, where: settings.Places) -> None:
        """The helper fails: another copy of the plugin may have a better one."""
        with self._lock:
            self._chosen.pop(where.memory, None)

    def outbox(self, where: settings.Places, wanted: "Callable[[settings.Places], Options]") -> Outbox:
        with self._lock:
            self._newest[where.queue] = wanted
            found = self._outboxes.get(where.queue)
            if found is None:
                made = Outbox(where.queue, lambda: self.hold(where, self._newest[where.queue]), self.package, once)
                found = self._outboxes.setdefault(where.queue, made)  # one, also when a finalizer came in between
            return found

    def courses(self, where: settings.Places) -> Courses:
        with self._lock:
            return self._courses.setdefault(where.root, Courses())

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
                made = Shared()
                found = getattr(package, _ATTRIBUTE, None)  # a finalizer on this thread may have come in between
                if found is None or found.pid != os.getpid():
                    found = made
                    setattr(package, _ATTRIBUTE, found)
    return cast(Shared, found)


_making = ProcessLock()
