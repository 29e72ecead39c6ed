"""Locks that neither a fork nor the collector can leave held."""

from __future__ import annotations

import os
import threading
from typing import Any, Dict


class ProcessLock:
    """Held per process. What a thread of the parent held at the moment of a fork, nobody in the child would ever let go of: the
    child has a lock of its own. And it is entered again by the thread that has it: the collector runs wherever something is
    made, and a host's finalizer may shut a provider down from there."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: "Dict[int, Any]" = {}

    def _mine(self) -> Any:
        # One step of the interpreter: two threads get the same one.
        return self._of.get(os.getpid()) or self._of.setdefault(os.getpid(), threading.RLock())

    def __enter__(self) -> None:
        self._mine().acquire()

    def __exit__(self, *_: Any) -> None:
        self._mine().release()
