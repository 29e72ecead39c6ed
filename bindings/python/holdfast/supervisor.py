"""One helper per process and key, alive exactly as long as somebody holds it.

    with holdfast.Supervisor() as supervisor:
        hold = supervisor.hold(["memory-bridge", "--stdio"])
        hits = hold.request("memory.search", {"query": "tea"})

A Hold that is dropped is released; nothing here keeps one alive: not the threads of the library, not a subscription,
not a handler. Times are in seconds. All of it may be used from any thread; `*_async` from an event loop.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._handle import Handle
from ._library import Text, lib, take_text
from ._support import Options, Seconds, milliseconds
from ._waiting import wait_interruptibly
from .calls import Call, IncomingRequest, Registration
from .errors import HoldfastError, check
from .hold import Hold
from .session import Session

__all__ = ["Call", "Hold", "IncomingRequest", "Registration", "Session", "Supervisor"]

# Spec options that are times: given in seconds, as everything here.
_TIMES = (
    "health_every health_within health_while_starting stall linger serve_within respawn_first respawn_initial respawn_max "
    "respawn_reset_after_held respawn_window respawn_cool_down"
).split()


def _shut_down(pointer: int) -> None:
    lib.hf_supervisor_shutdown(pointer, -1)


class Supervisor(Handle):
    """Owns helpers. Collected, closed, or at the exit of the interpreter, it ends them by their stop plans."""

    def __init__(self, *, profile: "Optional[str]" = None, keeper_program: "Optional[str]" = None) -> None:
        if keeper_program is None and not os.environ.get("HOLDFAST_KEEP"):
            beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "holdfast-keep")
            keeper_program = beside if os.access(beside, os.X_OK) else None
        out = ctypes.c_void_p()
        with Options({"profile": profile, "keeper_program": keeper_program}) as options:
            check(lib.hf_supervisor_new(options, ctypes.byref(out)))
        # Its end is waited for by whoever closes it; freed, it has none left.
        super().__init__(out.value or 0, lib.hf_supervisor_free, _shut_down, at_exit=True)

    def __enter__(self) -> "Supervisor":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def hold(
        self,
        command: "Sequence[Text]",
        *,
        directory: "Optional[Text]" = None,
        environment: "Optional[Mapping[str, str]]" = None,
        extra_environment: "Optional[Mapping[str, str]]" = None,
        **options: Any,
    ) -> Hold:
        """A hold on the helper of this key; returns at once, the start goes on by itself. Options are those of
        HelperSpec in holdfast/supervisor.hpp, by the names in holdfast.h: framing, cancel, key, label, ready_by,
        health_method, health_params, stop_plan, containment, errors, limits; and times in seconds: linger, stall,
        health_every, respawn_initial, ... A value of the wrong kind is a TypeError; bytes mean what os.fsdecode() says."""
        values: "Dict[str, Any]" = dict(options)
        for name in _TIMES:
            if values.get(name) is not None:
                values[name] = milliseconds(values[name])
        if isinstance(values.get("health_params"), (dict, list)):
            values["health_params"] = json.dumps(values["health_params"])
        values["command"] = command
        values["directory"] = directory
        for name, variables in (("environment", environment), ("extra_environment", extra_environment)):
            if variables is None:
                continue
            if not isinstance(variables, Mapping):
                raise TypeError(f"{name} is a mapping, not a {type(variables).__name__}")
            values[name] = sorted(f"{os.fsdecode(key)}={os.fsdecode(value)}" for key, value in variables.items())
        out = ctypes.c_void_p()
        with Options(values) as pointer:
            check(self._call(lib.hf_supervisor_hold, pointer, ctypes.byref(out)))
        return Hold(out.value or 0)

    def close(self) -> None:
        """Ends all helpers by their stop plans. A Ctrl-C ends the waiting, not what is waited for; the exit of the
        interpreter waits for it."""
        # A main thread hears it only here: once it is freed, there is no way back.
        if not self.closed and threading.current_thread() is threading.main_thread():
            with contextlib.suppress(HoldfastError):  # closed meanwhile, or survivors: there is nobody to tell
                self.shutdown()
        super().close()

    def shutdown(self, timeout: "Optional[Seconds]" = None) -> None:
        """Ends all helpers and returns when nothing is left. Holds are Closed from now on."""
        with self._owned as pointer:
            wait_interruptibly(lambda ms: int(lib.hf_supervisor_shutdown(pointer, ms)), timeout)

    @property
    def status(self) -> "List[Dict[str, Any]]":
        text = ctypes.c_void_p()
        check(self._call(lib.hf_supervisor_status, ctypes.byref(text)))
        return list(json.loads(take_text(text)))
