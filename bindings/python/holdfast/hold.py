"""Holds: proof that a helper is wanted, and the way to talk to it."""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import threading
from typing import Any, Callable, Dict, List, Optional

from ._library import encoded, lib, take_text
from ._support import Seconds, Target, WeakCallable, keep, milliseconds, no_release, released
from ._waiting import SLICE_MS, beside, wait_interruptibly
from .calls import Call, Handle, Registration, dumped, on_answered, on_notified, on_served, serve_with, taken
from .errors import check, error_of
from .session import Session

_log = logging.getLogger("holdfast")


class Hold(Handle):
    """Proof that the helper is wanted. Dropping it releases it."""

    def __init__(self, pointer: int) -> None:
        super().__init__(pointer, lib.hf_hold_free)
        self._registrations: "List[Registration]" = []

    def __enter__(self) -> "Hold":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Releases it. Requests under way are answered or fail; everything else is Closed from now on."""
        for registration in self._registrations:
            registration.close()
        self._registrations.clear()
        super().close()

    release = close

    def wait_ready(self, timeout: "Optional[Seconds]" = 30.0) -> int:
        """Waits until the helper is ready; returns its generation."""
        generation = ctypes.c_uint64()
        wait_interruptibly(lambda ms: int(lib.hf_hold_wait_ready(self._get(), ms, ctypes.byref(generation))), timeout)
        return generation.value

    def request(
        self,
        method: str,
        params: Any = None,
        *,
        timeout: "Optional[Seconds]" = 30.0,
        idempotent: bool = False,
        generation: int = 0,
    ) -> Any:
        """Sends a request and returns its result. RemoteError for an error of the helper; Closed when the transport closed
        before the answer; TimedOut; GaveUp; Overflow. `generation`: only to that one."""
        arguments = (encoded(method), dumped(params), milliseconds(timeout), 1 if idempotent else 0, generation)
        reply = ctypes.c_void_p()
        if threading.current_thread() is threading.main_thread():
            call = ctypes.c_void_p()
            check(lib.hf_hold_start_and_wait(self._get(), *arguments, SLICE_MS, ctypes.byref(call)))
            if not lib.hf_call_done(call):
                return Call(call.value or 0).wait()
            try:
                check(lib.hf_call_wait(call, 0, ctypes.byref(reply)))
            finally:
                lib.hf_call_free(call)
            return taken(reply.value or 0)
        check(lib.hf_hold_request(self._get(), *arguments, ctypes.byref(reply)))
        return taken(reply.value or 0)

    def start(
        self,
        method: str,
        params: Any = None,
        *,
        timeout: "Optional[Seconds]" = 30.0,
        idempotent: bool = False,
        generation: int = 0,
    ) -> Call:
        """The same without waiting for the answer."""
        return self._started((encoded(method), dumped(params), milliseconds(timeout), 1 if idempotent else 0, generation))

    def _started(self, arguments: "tuple[Any, ...]") -> Call:
        call = ctypes.c_void_p()
        check(lib.hf_hold_start(self._get(), *arguments, ctypes.byref(call)))
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

        def answered(code: int, message: str, reply: int) -> None:
            error: "Optional[Exception]" = None
            result = None
            answered_by = 0
            try:
                if code != 0:
                    raise error_of(code, message)
                answered_by = int(lib.hf_reply_generation(reply))
                result = taken(reply)
            except Exception as raised:  # noqa: BLE001 - it belongs to `then`
                error = raised
            try:
                then(error, result, answered_by)
            except Exception:  # noqa: BLE001 - there is nobody to raise it to
                _log.exception("what was to happen after %s failed", method)

        return self._started_with(
            (encoded(method), dumped(params), milliseconds(timeout), 1 if idempotent else 0, generation), answered
        )

    def _started_with(self, arguments: "tuple[Any, ...]", answered: "Callable[[int, str, int], None]") -> Call:
        target = Target(answered)
        keep(target)
        call = ctypes.c_void_p()
        check(lib.hf_hold_start_with(self._get(), *arguments, on_answered, target.number, released, ctypes.byref(call)))
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
        """As request(), for an event loop. Cancelling the task cancels the request."""
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[Any]" = loop.create_future()

        def settle(error: "Optional[BaseException]", result: Any) -> None:
            if not future.done():
                future.set_exception(error) if error is not None else future.set_result(result)

        def answered(code: int, message: str, reply: int) -> None:
            error: "Optional[BaseException]" = None
            result = None
            try:
                if code != 0:
                    raise error_of(code, message)
                result = taken(reply)
            except Exception as raised:  # noqa: BLE001 - it belongs to who awaits
                error = raised
            try:
                loop.call_soon_threadsafe(settle, error, result)
            except RuntimeError:
                pass  # the loop is closed: nobody awaits

        handle = self._started_with(
            (encoded(method), dumped(params), milliseconds(timeout), 1 if idempotent else 0, generation), answered
        )
        try:
            return await future
        except asyncio.CancelledError:
            handle.cancel()
            raise

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification to the present generation."""
        check(lib.hf_hold_notify(self._get(), encoded(method), dumped(params)))

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
        check(lib.hf_hold_subscribe(self._get(), encoded(method), on_notified, target.number, no_release, ctypes.byref(out)))
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
        check(lib.hf_hold_serve(self._get(), encoded(method), on_served, target.number, no_release, ctypes.byref(out)))
        return self._registered(Registration(out.value or 0, target))

    def _registered(self, registration: Registration) -> Registration:
        self._registrations = [one for one in self._registrations if not one.closed]
        self._registrations.append(registration)
        return registration

    def replace(self, seen: int, timeout: "Optional[Seconds]" = 30.0) -> int:
        """Sees to it that another generation than `seen` is there, and waits for it."""
        pointer = self._get()

        def replace() -> int:
            generation = ctypes.c_uint64()
            check(lib.hf_hold_replace(pointer, seen, milliseconds(timeout), ctypes.byref(generation)))
            return generation.value

        return beside(replace)

    def retry(self) -> None:
        """After GaveUp, or during a pause: try again now."""
        check(lib.hf_hold_retry(self._get()))

    def session(self, open: "Optional[Callable[[Session], Any]]" = None) -> "Session":
        """Requests that need to be opened on each new generation first: open(session) does it."""
        return Session.of(self, open)

    @property
    def status(self) -> "Dict[str, Any]":
        text = ctypes.c_void_p()
        check(lib.hf_hold_status(self._get(), ctypes.byref(text)))
        return dict(json.loads(take_text(text)))

    @property
    def pid(self) -> int:
        """Of the helper; 0 when none runs."""
        return int(self.status["pid"])
