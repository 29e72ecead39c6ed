"""Holds: proof that a helper is wanted, and the way to talk to it."""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import threading
from typing import Any, Callable, Dict, List, Optional

from ._handle import Handle, lock
from ._library import encoded, lib, take_text
from ._support import Seconds, Target, WeakCallable, keep, milliseconds, no_release, released
from ._waiting import SLICE_MS, beside, beside_async, settler, wait_interruptibly
from .calls import (
    PASSED_ON,
    Asks,
    Call,
    Registration,
    Wish,
    dumped,
    give_back,
    on_answered,
    on_notified,
    on_served,
    result_of,
    serve_with,
    take_answer,
    taken,
    wait_done,
)
from .errors import check, error_of
from .session import Session

_log = logging.getLogger("holdfast")


class Hold(Handle, Asks):
    """Proof that the helper is wanted. Dropping it releases it."""

    def __init__(self, pointer: int) -> None:
        super().__init__(pointer, lib.hf_hold_free, lib.hf_hold_release)
        self._registrations: "List[Registration]" = []

    def __enter__(self) -> "Hold":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Releases it. Requests that were sent are answered or fail; everything else is Closed from now on, and whoever
        waits on it is told so."""
        with lock:
            registrations, self._registrations = self._registrations, []
        for registration in registrations:
            registration.close()
        super().close()

    release = close

    def wait_ready(self, timeout: "Optional[Seconds]" = 30.0) -> int:
        """Waits until the helper is ready; returns its generation."""
        generation = ctypes.c_uint64()
        with self._owned as pointer:
            wait_interruptibly(lambda ms: int(lib.hf_hold_wait_ready(pointer, ms, ctypes.byref(generation))), timeout)
        return generation.value

    async def wait_ready_async(self, timeout: "Optional[Seconds]" = 30.0) -> int:
        """As wait_ready(), for an event loop."""
        return await beside_async(lambda: self.wait_ready(timeout))

    def _ask(self, wish: Wish) -> Any:
        arguments = wish.arguments()
        # On the main thread in slices: only between them Python hears a Ctrl-C.
        wait = SLICE_MS if threading.current_thread() is threading.main_thread() else -1
        answer = take_answer()
        call = None
        try:
            with self._owned as pointer:
                check(lib.hf_hold_request_into(pointer, *arguments, wait, answer))
            call = answer.call
            if call:
                reply = ctypes.c_void_p()
                wait_done(call, None)
                check(lib.hf_call_wait(call, 0, ctypes.byref(reply)))
                check(lib.hf_reply_into(reply, answer))
            return result_of(answer)
        except BaseException:
            # When a signal handler has raised, nobody waits for it any more; one that is done is past that.
            call = call or answer.call
            if call:
                lib.hf_call_cancel(call)
            raise
        finally:
            if call:
                lib.hf_call_free(call)
            give_back(answer)

    def start(
        self,
        method: str,
        params: Any = None,
        *,
        timeout: "Optional[Seconds]" = 30.0,
        idempotent: bool = False,
        generation: int = 0,
    ) -> Call:
        """As request(), without waiting for the answer."""
        wish = Wish(method, params, timeout, idempotent, generation)
        call = ctypes.c_void_p()
        check(self._call(lib.hf_hold_start, *wish.arguments(), ctypes.byref(call)))
        return Call(call.value or 0)

    def request_then(
        self,
        method: str,
        params: Any,
        then: "Callable[[Optional[Exception], Any, int], Any]",
        *,
        timeout: "Optional[Seconds]" = 30.0,
        idempotent: bool = False,
        generation: int = 0,
    ) -> Call:
        """As start(); the answer comes by then(error, result, generation), exactly once, on a thread of the library. Unlike
        a subscriber, `then` is kept until it was called."""

        def told(error: "Optional[Exception]", result: Any, answered_by: int) -> None:
            try:
                then(error, result, answered_by)
            except Exception:  # noqa: BLE001 - there is nobody to raise it to
                _log.exception("what was to happen after %s failed", method)

        return self._start_with(Wish(method, params, timeout, idempotent, generation), told)

    def _start_with(self, wish: Wish, then: "Callable[[Optional[Exception], Any, int], Any]", flags: int = 0) -> Call:
        def answered(code: int, message: str, reply: int) -> None:
            error: "Optional[Exception]" = None
            result = None
            answered_by = 0
            try:
                if code != 0:
                    raise error_of(code, message)
                result, answered_by = taken(reply)
            except Exception as raised:  # noqa: BLE001 - it belongs to `then`
                error = raised
            then(error, result, answered_by)

        # Before the target is kept: what fails here leaves nothing behind.
        arguments = wish.arguments(flags)
        call = ctypes.c_void_p()
        with self._owned as pointer:
            target = Target(answered)
            keep(target)
            check(lib.hf_hold_start_with(pointer, *arguments, on_answered, target.number, released, ctypes.byref(call)))
        return Call(call.value or 0)

    async def request_async(
        self,
        method: str,
        params: Any = None,
        *,
        timeout: "Optional[Seconds]" = 30.0,
        idempotent: bool = False,
        generation: int = 0,
    ) -> Any:
        """As request(), for an event loop. Cancelling the task cancels the request. No callback of anybody else, however
        slow, stands between the answer and the loop."""
        return await self._ask_async(Wish(method, params, timeout, idempotent, generation))

    async def _ask_async(self, wish: Wish) -> Any:
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[Any]" = loop.create_future()
        settle = settler(loop, future)
        handle = self._start_with(wish, lambda error, result, _: settle(error, result), PASSED_ON)
        try:
            return await future
        except asyncio.CancelledError:
            handle.cancel()
            raise

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification to the present generation."""
        check(self._call(lib.hf_hold_notify, encoded(method), dumped(params)))

    def subscribe(self, method: str, function: "Callable[[str, Any], Any]") -> Registration:
        """Calls function(method, params) for notifications of a method, or of all with "*". A bound method does not keep its
        object alive."""
        weak = WeakCallable(function)

        def notified(name: str, params: Any) -> None:
            alive = weak.get()
            if alive is None:
                return
            try:
                alive(name, params)
            except Exception:  # noqa: BLE001 - there is nobody to raise it to
                _log.exception("a subscriber of %s failed", name)

        target = Target(notified)
        out = ctypes.c_void_p()
        check(self._call(lib.hf_hold_subscribe, encoded(method), on_notified, target.number, no_release, ctypes.byref(out)))
        return self._registered(Registration(out.value or 0, target))

    def serve(self, method: str, function: "Callable[[str, Any], Any]") -> Registration:
        """Answers requests of the helper with what function(method, params) returns, or raises. The newest hold that serves a
        method (or "*") is asked. A coroutine function runs on the event loop it was registered from. A bound method
        does not keep its object alive."""
        try:
            loop: "Optional[asyncio.AbstractEventLoop]" = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        target = Target(serve_with(WeakCallable(function), loop))
        out = ctypes.c_void_p()
        check(self._call(lib.hf_hold_serve, encoded(method), on_served, target.number, no_release, ctypes.byref(out)))
        return self._registered(Registration(out.value or 0, target))

    def _registered(self, registration: Registration) -> Registration:
        with lock:
            self._registrations = [one for one in self._registrations if not one.closed] + [registration]
        return registration

    def replace(self, seen: int, timeout: "Optional[Seconds]" = 30.0) -> int:
        """Sees to it that another generation than `seen` is there, and waits for it."""
        return beside(lambda: self._replace(seen, timeout))

    async def replace_async(self, seen: int, timeout: "Optional[Seconds]" = 30.0) -> int:
        """As replace(), for an event loop."""
        return await beside_async(lambda: self._replace(seen, timeout))

    def _replace(self, seen: int, timeout: "Optional[Seconds]") -> int:
        generation = ctypes.c_uint64()
        check(self._call(lib.hf_hold_replace, seen, milliseconds(timeout), ctypes.byref(generation)))
        return generation.value

    def retry(self) -> None:
        """After GaveUp, or during a pause: try again now."""
        check(self._call(lib.hf_hold_retry))

    def session(self, open: "Optional[Callable[[Session], Any]]" = None) -> "Session":
        """Requests that need to be opened on each new generation first: open(inside) does it. What is asked through
        `inside`, from any thread until it returns, goes to that generation. The session keeps `open`, and so the object
        of a bound method, as long as it lives."""
        return Session.of(self, open)

    @property
    def status(self) -> "Dict[str, Any]":
        text = ctypes.c_void_p()
        check(self._call(lib.hf_hold_status, ctypes.byref(text)))
        return dict(json.loads(take_text(text)))

    @property
    def pid(self) -> int:
        """Of the helper; 0 when none runs."""
        return int(self.status["pid"])
