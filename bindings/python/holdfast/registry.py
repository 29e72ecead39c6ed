"""The registry for a host that starts its helpers itself: who runs for which session, ended by one call."""

from __future__ import annotations

import ctypes
import json
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from ._handle import Handle
from ._library import AFTER_RESTART, encoded, lib, take_text
from ._support import Options, Seconds, milliseconds
from ._waiting import beside
from .errors import check

Entry = Dict[str, Any]


def _stop_values(grace: "Optional[Seconds]", patience: "Optional[Seconds]", now: bool) -> "Dict[str, Any]":
    return {
        "grace": None if grace is None else milliseconds(grace),
        "patience": None if patience is None else milliseconds(patience),
        "now": now,
    }


class Registry(Handle):
    """See docs/registry.md. `host` is the name this host goes by at each of its starts."""

    def __init__(
        self,
        host: str,
        *,
        profile: "Optional[str]" = None,
        directory: "Optional[str]" = None,
        events_directory: "Optional[str]" = None,
        max_entries: "Optional[int]" = None,
        ttl: "Optional[Seconds]" = None,
        reap: bool = False,
    ) -> None:
        out = ctypes.c_void_p()
        values = {
            "host": host,
            "profile": profile,
            "directory": directory,
            "events_directory": events_directory,
            "max_entries": max_entries,
            "ttl": None if ttl is None else milliseconds(ttl),
            "reap": reap,
        }
        with Options(values) as pointer:
            check(lib.hf_registry_open(pointer, ctypes.byref(out)))
        super().__init__(out.value or 0, lib.hf_registry_free, at_exit=True)

    def __enter__(self) -> "Registry":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends no process. Entries of living ones stay, for the next start of this host."""
        super().close()

    def register(
        self,
        pid: int,
        *,
        label: "Optional[str]" = None,
        session: "Optional[str]" = None,
        task: "Optional[str]" = None,
        argv: "Optional[Sequence[str]]" = None,
    ) -> Entry:
        """A child that was not waited for yet (its number is certainly its own)."""
        return self._register(lib.hf_registry_register, pid, label, session, task, argv)

    def register_pidfd(
        self,
        pidfd: int,
        *,
        label: "Optional[str]" = None,
        session: "Optional[str]" = None,
        task: "Optional[str]" = None,
        argv: "Optional[Sequence[str]]" = None,
    ) -> Entry:
        return self._register(lib.hf_registry_register_pidfd, pidfd, label, session, task, argv)

    def _register(
        self,
        function: Any,
        number: int,
        label: "Optional[str]",
        session: "Optional[str]",
        task: "Optional[str]",
        argv: "Optional[Sequence[str]]",
    ) -> Entry:
        text = ctypes.c_void_p()
        with Options({"label": label, "session": session, "task": task, "argv": argv}) as pointer:
            check(self._call(function, number, pointer, ctypes.byref(text)))
        return dict(json.loads(take_text(text)))

    def _find(self, by: str, value: "Optional[str]" = None) -> "List[Entry]":
        text = ctypes.c_void_p()
        check(self._call(lib.hf_registry_find, encoded(by), encoded(value), ctypes.byref(text)))
        return list(json.loads(take_text(text)))

    def all(self) -> "List[Entry]":
        return self._find("all")

    def find(self, session: str) -> "List[Entry]":
        return self._find("session", session)

    def find_task(self, task: str) -> "List[Entry]":
        return self._find("task", task)

    def survey(self) -> "List[Entry]":
        """Entries of all hosts of the profile, dead hosts included."""
        return self._find("survey")

    def get(self, id: str) -> "Optional[Entry]":
        return next((entry for entry in self.all() if entry["id"] == id), None)

    def has_active(self, session: str) -> bool:
        return bool(self._call(lib.hf_registry_has_active, encoded(session)))

    def _end(self, what: str, value: "Optional[str]", options: "Dict[str, Any]") -> "Dict[str, Any]":
        def ended() -> "Dict[str, Any]":
            text = ctypes.c_void_p()
            with Options(options) as pointer:
                check(self._call(lib.hf_registry_end, encoded(what), encoded(value), pointer, ctypes.byref(text)))
            return dict(json.loads(take_text(text)))

        return beside(ended)

    def end(
        self, id: str, *, grace: "Optional[Seconds]" = None, patience: "Optional[Seconds]" = None, now: bool = False
    ) -> "Dict[str, Any]":
        """Ends it and everything below it, and returns when it is gone: {"ended": [...], "survivors": [...]}."""
        return self._end("id", id, _stop_values(grace, patience, now))

    def end_session(
        self, session: str, *, grace: "Optional[Seconds]" = None, patience: "Optional[Seconds]" = None, now: bool = False
    ) -> "Dict[str, Any]":
        return self._end("session", session, _stop_values(grace, patience, now))

    def end_all(
        self, *, grace: "Optional[Seconds]" = None, patience: "Optional[Seconds]" = None, now: bool = False
    ) -> "Dict[str, Any]":
        return self._end("all", None, _stop_values(grace, patience, now))

    def forget(self, id: str) -> bool:
        return bool(self._call(lib.hf_registry_forget, encoded(id)))

    def after_restart(
        self,
        policy: "Union[str, Callable[[Entry], str]]",
        *,
        grace: "Optional[Seconds]" = None,
        patience: "Optional[Seconds]" = None,
        now: bool = False,
    ) -> "Dict[str, Any]":
        """What an earlier run of this host left: "adopt", "reap" or "leave", for all or as policy(entry) says for each."""
        words = ("adopt", "reap", "leave")
        raised: "List[BaseException]" = []

        def decide(_: Any, entry: bytes) -> int:
            try:
                return words.index(policy(json.loads(entry)))  # type: ignore[operator]
            except BaseException as error:  # noqa: BLE001 - raised again below
                raised.append(error)
                return words.index("leave")

        text = ctypes.c_void_p()
        word = encoded(policy) if isinstance(policy, str) else None
        with Options(_stop_values(grace, patience, now)) as pointer:
            check(
                self._call(
                    lib.hf_registry_after_restart, word, AFTER_RESTART(decide), None, pointer, ctypes.byref(text)
                )
            )
        report = dict(json.loads(take_text(text)))
        if raised:
            raise raised[0]
        return report

    def fileno(self) -> int:
        """Readable when some registered process has ended since collect() was last called."""
        return int(self._call(lib.hf_registry_poll_fd))

    def collect(self) -> "List[Entry]":
        """Those that have ended since the last call, each told once."""
        text = ctypes.c_void_p()
        check(self._call(lib.hf_registry_collect, ctypes.byref(text)))
        return list(json.loads(take_text(text)))

    def expire(self, now_ms: "Optional[int]" = None) -> int:
        """Forgets the finished whose time is over; says how many."""
        return int(self._call(lib.hf_registry_expire, self.clock_ms() if now_ms is None else now_ms))

    @staticmethod
    def clock_ms() -> int:
        return int(lib.hf_registry_clock_ms())
