"""Requests under way, both directions: a call of ours, a request of the helper, and the library's way back to us."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import json
import logging
import weakref
from typing import Any, Callable, Optional

from ._library import ANSWERED, NOTIFIED, SERVED, encoded, lib
from ._support import Seconds, Target, WeakCallable, target_of
from ._waiting import TIMED_OUT, wait_interruptibly
from .errors import Closed, HoldfastError, RemoteError, check

_log = logging.getLogger("holdfast")


def dumped(params: Any) -> "Optional[bytes]":
    if params is None:
        return None
    return json.dumps(params, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def loaded(text: "Optional[bytes]") -> Any:
    return json.loads(text) if text else None


def taken(reply: int) -> Any:
    """The result of a reply, which is freed; an error of the helper is raised."""
    try:
        if lib.hf_reply_is_error(reply):
            raise RemoteError(
                lib.hf_reply_error_code(reply),
                lib.hf_reply_error_message(reply).decode("utf-8", "replace"),
                loaded(lib.hf_reply_json(reply)),
                lib.hf_reply_generation(reply),
            )
        return loaded(lib.hf_reply_json(reply))
    finally:
        lib.hf_reply_free(reply)


class Handle:
    """Owns an object of the library; ends it when collected, closed, or at the exit of the interpreter."""

    def __init__(self, pointer: int, free: "Callable[[int], None]") -> None:
        self._pointer = pointer
        self._finalizer = weakref.finalize(self, free, pointer)

    def _get(self) -> int:
        if not self._finalizer.alive:
            raise Closed(f"this {type(self).__name__} was closed")
        return self._pointer

    def close(self) -> None:
        """Ends it. A second time does nothing."""
        self._finalizer()

    @property
    def closed(self) -> bool:
        return not self._finalizer.alive


class Registration(Handle):
    """A subscription or a served method: lives as long as its hold, or until close()."""

    def __init__(self, pointer: int, target: Target) -> None:
        super().__init__(pointer, lib.hf_registration_free)
        self._target = target


class Call(Handle):
    """A request under way. Dropping it does not cancel it."""

    def __init__(self, pointer: int) -> None:
        super().__init__(pointer, lib.hf_call_free)

    def wait(self, timeout: "Optional[Seconds]" = None) -> Any:
        """The result, once. TimedOut when it is not there in time: the call itself goes on."""
        reply = ctypes.c_void_p()
        pointer = self._get()
        # In slices only until it is done: how a call ended (also by its own deadline) is told once.
        wait_interruptibly(lambda ms: 0 if lib.hf_call_wait_done(pointer, ms) else TIMED_OUT, timeout)
        check(lib.hf_call_wait(pointer, 0, ctypes.byref(reply)))
        return taken(reply.value or 0)

    def done(self) -> bool:
        return bool(lib.hf_call_done(self._get()))

    def cancel(self) -> None:
        lib.hf_call_cancel(self._get())


class IncomingRequest:
    """A request that the helper made. Answered once, by reply() or reply_error(); dropped, the helper gets an error."""

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer
        self._finalizer = weakref.finalize(self, lib.hf_request_free, pointer)
        self.method = lib.hf_request_method(pointer).decode("utf-8", "replace")
        self.params = loaded(lib.hf_request_params(pointer))

    def reply(self, result: Any) -> None:
        check(lib.hf_request_reply(self._pointer, dumped(result) or b"null"))

    def reply_error(self, code: int, message: str, data: Any = None) -> None:
        check(lib.hf_request_reply_error(self._pointer, code, encoded(message), dumped(data)))


def _notified(number: "Optional[int]", method: bytes, params: bytes) -> None:
    target = target_of(number)
    if target is not None:
        target.call(method.decode("utf-8", "replace"), loaded(params))


def _served(number: "Optional[int]", request: "Optional[int]") -> None:
    incoming = IncomingRequest(request or 0)
    target = target_of(number)
    if target is not None:
        target.call(incoming)


def _answered(number: "Optional[int]", error: int, message: bytes, reply: "Optional[int]") -> None:
    target = target_of(number)
    if target is not None:
        target.call(error, message.decode("utf-8", "replace"), reply or 0)
    elif reply:
        lib.hf_reply_free(reply)


# The library has their addresses: they live as long as the program.
on_notified = NOTIFIED(_notified)
on_served = SERVED(_served)
on_answered = ANSWERED(_answered)


def serve_with(function: WeakCallable, loop: "Optional[asyncio.AbstractEventLoop]") -> "Callable[[IncomingRequest], None]":
    def serve(request: IncomingRequest) -> None:
        alive = function.get()
        if alive is None:
            request.reply_error(-32601, f"who served {request.method} is gone")
            return
        try:
            result = alive(request.method, request.params)
            if inspect.isawaitable(result):
                if loop is None:
                    raise TypeError("a coroutine can serve only when it was registered from a running event loop")
                asyncio.run_coroutine_threadsafe(_reply_later(request, result), loop)
                return
            request.reply(result)
        except RemoteError as error:
            request.reply_error(error.code, error.message, error.data)
        except Exception as error:  # noqa: BLE001 - whatever the handler raises is the helper's answer
            _log.exception("the handler of %s failed", request.method)
            _reply_failure(request, error)

    return serve


async def _reply_later(request: IncomingRequest, result: Any) -> None:
    try:
        request.reply(await result)
    except Exception as error:  # noqa: BLE001
        _log.exception("the handler of %s failed", request.method)
        _reply_failure(request, error)


def _reply_failure(request: IncomingRequest, error: Exception) -> None:
    try:
        request.reply_error(-32000, f"{type(error).__name__}: {error}")
    except HoldfastError:
        pass  # nobody waits for it any more
