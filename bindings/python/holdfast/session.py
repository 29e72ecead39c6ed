"""Sessions: opened on each generation of the helper before their first request there."""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, List, Optional

from ._library import SESSION_OPEN, encoded, lib
from ._support import Seconds, Target, WeakCallable, milliseconds, no_release, target_of
from ._waiting import beside
from .calls import dumped, taken
from .errors import ErrorCode, HoldfastError, check

if TYPE_CHECKING:
    from .hold import Hold

_raised_in_open = threading.local()


def _open(number: "Optional[int]", inside: "Optional[int]") -> int:
    target = target_of(number)
    if target is None:
        lib.hf_set_message(b"the session is gone")
        return 18
    try:
        target.call(Session(inside or 0, owned=False))
        return 0
    except HoldfastError as error:
        _raised_in_open.error = error
        lib.hf_set_message(encoded(str(error)))
        return int(error.code)
    except BaseException as error:  # noqa: BLE001 - raised again by the request that needed it
        _raised_in_open.error = error
        lib.hf_set_message(encoded(f"{type(error).__name__}: {error}"))
        return 20


_on_open = SESSION_OPEN(_open)


class Session:
    """Requests that belong together. It does not keep the helper alive."""

    def __init__(self, pointer: int, owned: bool = True) -> None:
        self._pointer = pointer
        self._target: "Optional[Target]" = None
        self._hold: "Callable[[], Optional[Hold]]" = lambda: None
        if owned:
            weakref.finalize(self, lib.hf_session_free, pointer)

    @staticmethod
    def of(hold: "Hold", open: "Optional[Callable[[Session], Any]]") -> "Session":
        weak = WeakCallable(open) if open is not None else None

        def opened(inside: Session) -> None:
            alive = weak.get() if weak is not None else None
            if alive is not None:
                alive(inside)

        target = Target(opened)
        out = ctypes.c_void_p()
        check(lib.hf_hold_session(hold._get(), _on_open, target.number, no_release, ctypes.byref(out)))
        session = Session(out.value or 0)
        session._target = target
        session._hold = weakref.ref(hold)
        return session

    def request(
        self,
        method: str,
        params: Any = None,
        *,
        timeout: "Optional[Seconds]" = 30.0,
        idempotent: bool = False,
        generation: int = 0,
    ) -> Any:
        """As Hold.request(), after the session was opened on the generation it goes to."""
        if threading.current_thread() is not threading.main_thread():
            return self._request(method, params, timeout, idempotent, generation)
        # The usual case, it is open already, needs no other thread to hear a Ctrl-C.
        end = None if timeout is None else time.monotonic() + timeout
        hold, opened = self._hold(), self.open_on
        if hold is not None and not hold.closed and opened != 0 and generation in (0, opened):
            try:
                return hold.request(method, params, timeout=timeout, generation=opened)
            except HoldfastError as error:
                lost = error.code == ErrorCode.CLOSED and idempotent and not hold.closed
                if generation != 0 or not (lost or error.code == ErrorCode.SUPERSEDED):
                    raise
        left = None if end is None else max(0.0, end - time.monotonic())

        def slowly() -> "List[Any]":
            return [self._request(method, params, left, idempotent, generation)]

        return beside(slowly)[0]

    def _request(
        self, method: str, params: Any, timeout: "Optional[Seconds]", idempotent: bool, generation: int
    ) -> Any:
        reply = ctypes.c_void_p()
        _raised_in_open.error = None
        code = lib.hf_session_request(
            self._pointer,
            encoded(method),
            dumped(params),
            milliseconds(timeout),
            1 if idempotent else 0,
            generation,
            ctypes.byref(reply),
        )
        raised = _raised_in_open.error
        _raised_in_open.error = None
        if code != 0 and raised is not None:
            raise raised
        check(code)
        return taken(reply.value or 0)

    @property
    def open_on(self) -> int:
        """The generation it is open on; 0 when it is not."""
        return int(lib.hf_session_open_on(self._pointer))
