"""Sessions: opened on each generation of the helper before their first request there."""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple

from ._handle import Handle
from ._library import SESSION_OPEN, lib, message
from ._support import Seconds, Target, no_release, target_of
from ._waiting import beside, beside_async
from .calls import Asks, Wish, taken
from .errors import ErrorCode, HoldfastError, check

if TYPE_CHECKING:
    from .hold import Hold

_raised_in_open = threading.local()


def _open(number: "Optional[int]", inside: "Optional[int]") -> int:
    target = target_of(number)
    if target is None:
        lib.hf_set_message(b"the session is gone")
        return 18
    given = Session(inside or 0, lambda _: over.set())
    over = threading.Event()
    try:
        target.call(given)
        return 0
    except HoldfastError as error:
        _raised_in_open.error = error
        lib.hf_set_message(message(str(error)))
        return int(error.code)
    except BaseException as error:  # noqa: BLE001 - raised again by the request that needed it
        _raised_in_open.error = error
        lib.hf_set_message(message(f"{type(error).__name__}: {error}"))
        return 20
    finally:
        given.close()
        over.wait()  # what is behind it goes with this call: who still asks through it comes out first


_on_open = SESSION_OPEN(_open)


def _nothing(_: "Session") -> None:
    """Opens a session that needs no words."""


def _left_of(wish: Wish, end: "Optional[float]") -> Wish:
    return wish._replace(timeout=None if end is None else max(0.0, end - time.monotonic()))


class Session(Handle, Asks):
    """Requests that belong together. It keeps the function that opens it, and does not keep the helper alive."""

    def __init__(self, pointer: int, free: "Callable[[int], Any]" = lib.hf_session_free) -> None:
        super().__init__(pointer, free)
        self._target: "Optional[Target]" = None
        self._hold: "Callable[[], Optional[Hold]]" = lambda: None

    @staticmethod
    def of(hold: "Hold", open: "Optional[Callable[[Session], Any]]") -> "Session":
        # Ours, so that it lives as long as we do: without its opener a session would ask unopened.
        target = Target(open if open is not None else _nothing)
        out = ctypes.c_void_p()
        check(hold._call(lib.hf_hold_session, _on_open, target.number, no_release, ctypes.byref(out)))
        session = Session(out.value or 0)
        session._target = target
        session._hold = weakref.ref(hold)
        return session

    def _ask(self, wish: Wish) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return self._send(wish)
        # The usual case, it is open already, needs no other thread to hear a Ctrl-C.
        end = None if wish.timeout is None else time.monotonic() + wish.timeout
        hold, straight = self._straight(wish)
        if hold is not None:
            try:
                return hold._ask(straight)
            except HoldfastError as error:
                if not self._goes_on(wish, hold, error):
                    raise
        return beside(lambda: [self._send(_left_of(wish, end))])[0]

    async def request_async(
        self,
        method: str,
        params: Any = None,
        *,
        timeout: "Optional[Seconds]" = 30.0,
        idempotent: bool = False,
        generation: int = 0,
    ) -> Any:
        """As request(), for an event loop. Cancelling the task cancels the request; an opening that is under way for it
        goes on, on a thread of its own."""
        wish = Wish(method, params, timeout, idempotent, generation)
        end = None if timeout is None else time.monotonic() + timeout
        hold, straight = self._straight(wish)
        if hold is not None:
            try:
                return await hold._ask_async(straight)
            except HoldfastError as error:
                if not self._goes_on(wish, hold, error):
                    raise
        return await beside_async(lambda: self._send(_left_of(wish, end)))

    def _straight(self, wish: Wish) -> "Tuple[Optional[Hold], Wish]":
        """When it is open already: the hold, and the wish as it can ask for it without us."""
        hold, opened = self._hold(), self.open_on
        if hold is None or hold.closed or opened == 0 or wish.generation not in (0, opened):
            return None, wish
        return hold, wish._replace(idempotent=False, generation=opened)

    @staticmethod
    def _goes_on(wish: Wish, hold: "Hold", error: HoldfastError) -> bool:
        """The generation that it was open on is gone: is it to be opened on the next one?"""
        lost = error.code == ErrorCode.CLOSED and wish.idempotent and not hold.closed
        return wish.generation == 0 and (lost or error.code == ErrorCode.SUPERSEDED)

    def _send(self, wish: Wish) -> Any:
        reply = ctypes.c_void_p()
        _raised_in_open.error = None
        code = self._call(lib.hf_session_request, *wish.arguments(), ctypes.byref(reply))
        raised = _raised_in_open.error
        _raised_in_open.error = None
        # Of ours only when it is what the request ended by: the library may have tried again since, and given up.
        if code != 0 and raised is not None and (not isinstance(raised, HoldfastError) or raised.code == code):
            raise raised
        check(code)
        return taken(reply.value or 0)[0]

    @property
    def open_on(self) -> int:
        """The generation it is open on; 0 when it is not."""
        return int(self._call(lib.hf_session_open_on))
