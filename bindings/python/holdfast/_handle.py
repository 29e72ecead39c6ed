"""Objects of the library, used by many threads, closed by any of them at any moment, and freed by the last one out."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Callable, Optional

from .errors import Closed

# Held for a few instructions at a time, and never while the library is called. One for all, so that it can be had at a
# fork: a child must not find it taken by a thread that it does not have. It is entered again by a signal handler, or by
# the collector, that closes something on a thread that has it.
lock = threading.RLock()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


class Owned:
    """A pointer that many use: `with owned as pointer`. After close() nobody comes in any more, `end` makes those who wait
    inside come out, and the last to leave frees it."""

    __slots__ = ("_pointer", "_free", "_end", "_name", "_uses", "closed")

    def __init__(
        self, pointer: int, free: "Callable[[int], Any]", end: "Optional[Callable[[int], Any]]" = None, name: str = "object"
    ) -> None:
        self._pointer = pointer
        self._free = free
        self._end = end
        self._name = name
        self._uses = 0
        self.closed = False

    def __enter__(self) -> int:
        # First counted, then looked at: whoever closes it in between, on this very thread too, leaves it to us to free.
        with lock:
            self._uses += 1
            if not self.closed:
                return self._pointer
        self.__exit__()
        raise Closed(f"this {self._name} was closed")

    def __exit__(self, *_: Any) -> None:
        pointer = 0
        with lock:
            self._uses -= 1
            if self.closed and self._uses == 0:
                pointer, self._pointer = self._pointer, 0
        if pointer:
            self._free(pointer)

    def close(self) -> None:
        with lock:
            if self.closed:
                return
            self.closed = True
            self._uses += 1  # until its end was told
        try:
            if self._end is not None:
                self._end(self._pointer)
        finally:
            self.__exit__()


class Handle:
    """Owns an object of the library; ends it when closed or collected, and with `at_exit` at the exit of the interpreter."""

    def __init__(
        self,
        pointer: int,
        free: "Callable[[int], Any]",
        end: "Optional[Callable[[int], Any]]" = None,
        at_exit: bool = False,
    ) -> None:
        self._owned = Owned(pointer, free, end, type(self).__name__)
        self._finalizer = weakref.finalize(self, self._owned.close)
        self._finalizer.atexit = at_exit

    def _call(self, function: "Callable[..., Any]", *arguments: Any) -> Any:
        """function(pointer, *arguments), while nobody frees it."""
        with self._owned as pointer:
            return function(pointer, *arguments)

    def close(self) -> None:
        """Ends it. A second time does nothing. Whoever uses it on another thread is not harmed: what they do next
        raises Closed."""
        self._owned.close()
        self._finalizer.detach()

    @property
    def closed(self) -> bool:
        return self._owned.closed
