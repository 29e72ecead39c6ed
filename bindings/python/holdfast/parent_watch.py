"""For workers: learn at once that the parent is gone, or that there was nothing to do for too long."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Optional

from ._handle import Handle
from ._library import WATCH_FIRED, lib, take_text
from ._support import Options, Seconds, Target, keep, milliseconds, released, target_of
from .errors import check

PARENT_VARIABLE = "HOLDFAST_PARENT"
_WHY = {1: "parent_gone", 2: "idle"}


def _fired(number: "Optional[int]", why: int) -> None:
    target = target_of(number)
    if target is not None:
        target.call(_WHY.get(why, "parent_gone"))


_on_fired = WATCH_FIRED(_fired)


class ParentWatch(Handle):
    """Fires when the parent process is gone ("parent_gone") or touch() was not called for `idle` seconds ("idle").

    With `fired` a thread calls it once; `ParentWatch(fired=ParentWatch.exit_now)` is the shortest use. Without, poll fileno() and
    ask fired(). Keep the object: dropping it ends the watch.
    """

    def __init__(
        self,
        fired: "Optional[Callable[[str], Any]]" = None,
        *,
        idle: "Optional[Seconds]" = None,
        init_is_parent: bool = False,
        fallback_signal: int = 0,
    ) -> None:
        values = {
            "idle": None if idle is None else milliseconds(idle),
            "init_is_parent": init_is_parent,
            "fallback_signal": fallback_signal,
        }
        out = ctypes.c_void_p()
        callback, number, release = WATCH_FIRED(0), 0, released
        if fired is not None:
            target = Target(fired)
            keep(target)
            callback, number = _on_fired, target.number
        with Options(values) as pointer:
            check(lib.hf_parent_watch_new(pointer, callback, number, release, ctypes.byref(out)))
        super().__init__(out.value or 0, lib.hf_parent_watch_free, at_exit=True)

    @staticmethod
    def exit_now(_: str) -> None:
        """Ends this process at once, without clean-up: for workers that have nothing to save."""
        os._exit(0)

    def __enter__(self) -> "ParentWatch":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def fileno(self) -> int:
        return int(self._call(lib.hf_parent_watch_fd))

    def fired(self) -> "Optional[str]":
        return _WHY.get(self._call(lib.hf_parent_watch_fired))

    def touch(self) -> None:
        """Not idle: the limit counts from now again."""
        self._call(lib.hf_parent_watch_touch)


def describe_self() -> str:
    """Who this process is, for HOLDFAST_PARENT in the environment of its workers."""
    text = ctypes.c_void_p()
    check(lib.hf_describe_self(ctypes.byref(text)))
    return take_text(text)
