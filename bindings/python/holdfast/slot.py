"""A slot: a name that at most one process owns, decided by the kernel's locks."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Dict, List, Optional, Sequence

from ._handle import Handle
from ._library import encoded, lib, take_text
from ._support import Options, Seconds, milliseconds
from ._waiting import beside, until_cancelled
from .errors import check


class Slot(Handle):
    """Ownership of a slot. Dropping it releases the slot.

        slot = holdfast.Slot.acquire("/var/lib/app", "writer", if_held="wait", wait=10)
    """

    def __init__(self, pointer: int) -> None:
        super().__init__(pointer, lib.hf_slot_free, at_exit=True)

    @classmethod
    def acquire(
        cls,
        directory: "os.PathLike[str] | str",
        name: str,
        *,
        if_held: str = "refuse",
        wait: "Optional[Seconds]" = None,
        grace: "Optional[Seconds]" = None,
        stall: "Optional[Seconds]" = None,
        argv: "Optional[Sequence[str]]" = None,
        address: "Optional[str]" = None,
        session: "Optional[str]" = None,
        cancel_fd: "Optional[int]" = None,
    ) -> "Slot":
        """Takes it. Held when there is a healthy owner; see docs/slot-protocol.md for if_held: refuse, wait, replace."""
        slot, _ = cls.acquire_or_attach(
            directory, name, if_held=if_held, wait=wait, grace=grace, stall=stall, argv=argv, address=address,
            session=session, cancel_fd=cancel_fd,
        )  # fmt: skip
        if slot is None:
            raise ValueError("with if_held='attach' use acquire_or_attach()")
        return slot

    @classmethod
    def acquire_or_attach(
        cls, directory: "os.PathLike[str] | str", name: str, **options: Any
    ) -> "tuple[Optional[Slot], Optional[Dict[str, Any]]]":
        """As acquire(), also for if_held="attach": then either the slot, or the description of its owner."""
        values: "Dict[str, Any]" = dict(options, directory=os.fspath(directory), name=name)
        for time in ("wait", "grace", "stall"):
            if values.get(time) is not None:
                values[time] = milliseconds(values[time])
        given = values.pop("cancel_fd", None)

        def take(cancel_fd: "Optional[int]") -> "tuple[Optional[Slot], Optional[Dict[str, Any]]]":
            out, attached = ctypes.c_void_p(), ctypes.c_void_p()
            with Options(dict(values, cancel_fd=cancel_fd)) as pointer:
                check(lib.hf_slot_acquire(pointer, ctypes.byref(out), ctypes.byref(attached)))
            if out.value:
                return cls(out.value), None
            return None, dict(json.loads(take_text(attached)))

        if values.get("if_held", "refuse") == "refuse" or given is not None and not isinstance(given, int):
            return take(given)

        def give_back(taken: "tuple[Optional[Slot], Optional[Dict[str, Any]]]") -> None:
            if taken[0] is not None:
                taken[0].close()

        # A negative number is no descriptor, and no option either.
        return until_cancelled(
            lambda cancel_fd: take(cancel_fd if cancel_fd >= 0 else None), -1 if given is None else given, give_back
        )

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def release(self) -> None:
        self.close()

    @property
    def epoch(self) -> int:
        """A number that grows with each ownership: shown by whoever writes shared data."""
        return int(self._call(lib.hf_slot_epoch))

    def progress(self, done: int, total: int = 0, status: str = "") -> None:
        """How far the start has come. Patience of contenders moves with `done`."""
        check(self._call(lib.hf_slot_progress, done, total, encoded(status)))

    def extend_patience(self, more: Seconds) -> None:
        check(self._call(lib.hf_slot_extend_patience, milliseconds(more)))

    def set_status(self, status: str) -> None:
        check(self._call(lib.hf_slot_set_status, encoded(status)))

    def set_address(self, address: str) -> None:
        check(self._call(lib.hf_slot_set_address, encoded(address)))

    def starting(self) -> None:
        check(self._call(lib.hf_slot_set_phase, b"starting"))

    def ready(self) -> None:
        check(self._call(lib.hf_slot_set_phase, b"ready"))

    def draining(self) -> None:
        check(self._call(lib.hf_slot_set_phase, b"draining"))

    @property
    def life_fd(self) -> int:
        """Who inherits it keeps successors out until it ends. It belongs to the slot."""
        return int(self._call(lib.hf_slot_life_fd))

    @property
    def watch_fd(self) -> int:
        """Readable when the lock file was touched from outside: then ask still_mine()."""
        return int(self._call(lib.hf_slot_watch_fd))

    def still_mine(self) -> None:
        """Raises when the lock file was wiped away: drain and leave."""
        check(self._call(lib.hf_slot_still_mine))


def query(directory: "os.PathLike[str] | str", name: str) -> "Dict[str, Any]":
    """One slot as it is now. Takes, writes and removes nothing."""
    text = ctypes.c_void_p()
    check(lib.hf_slot_query(encoded(os.fspath(directory)), encoded(name), ctypes.byref(text)))
    return dict(json.loads(take_text(text)))


def list_slots(directory: "os.PathLike[str] | str") -> "List[Dict[str, Any]]":
    text = ctypes.c_void_p()
    check(lib.hf_slot_list(encoded(os.fspath(directory)), ctypes.byref(text)))
    return list(json.loads(take_text(text)))


def stop_slot(
    directory: "os.PathLike[str] | str",
    name: str,
    *,
    grace: "Optional[Seconds]" = None,
    patience: "Optional[Seconds]" = None,
    now: bool = False,
) -> bool:
    """Ends the owner and everything that holds the slot's life; returns when nothing is left, and whether there was any."""
    values = {
        "grace": None if grace is None else milliseconds(grace),
        "patience": None if patience is None else milliseconds(patience),
        "now": now,
    }

    def stop() -> bool:
        was_running = ctypes.c_int()
        with Options(values) as pointer:
            check(lib.hf_slot_stop(encoded(os.fspath(directory)), encoded(name), pointer, ctypes.byref(was_running)))
        return bool(was_running.value)

    return beside(stop)


def wait_for_slot(
    directory: "os.PathLike[str] | str",
    name: str,
    what: str,
    timeout: "Optional[Seconds]" = None,
    *,
    cancel_fd: int = -1,
) -> "Dict[str, Any]":
    """Waits until the slot is "ready" or "free"."""
    words = encoded(os.fspath(directory)), encoded(name), encoded(what), milliseconds(timeout)

    def wait(cancelled: int) -> "Dict[str, Any]":
        text = ctypes.c_void_p()
        check(lib.hf_slot_wait(*words, cancelled, ctypes.byref(text)))
        return dict(json.loads(take_text(text)))

    return until_cancelled(wait, cancel_fd)
