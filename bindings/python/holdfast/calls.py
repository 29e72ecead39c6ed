"""Requests under way, both directions: a call of ours, a request of the helper, and the library's way back to us."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import json
import logging
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from ._handle import Handle
from ._library import ANSWERED, NOTIFIED, SERVED, Answer, encoded, lib
from ._library import message as as_message
from ._support import Seconds, Target, WeakCallable, milliseconds, target_of
from ._waiting import TIMED_OUT, wait_interruptibly
from .errors import ErrorCode, HoldfastError, RemoteError, check, error_of

_log = logging.getLogger("holdfast")
_MOST_SPARE = 16


def dumped(params: Any) -> "Optional[bytes]":
    if params is None:
        return None
    try:
        text = json.dumps(params, ensure_ascii=False, separators=(",", ":"))
    except (RecursionError, ValueError) as error:  # nested too deep, or in itself
        raise error_of(ErrorCode.INVALID_ARGUMENT, f"this cannot be written as JSON: {error}") from None
    return text.encode("utf-8", "surrogatepass")


def loaded(text: "Optional[bytes]", what: str = "the answer of the helper") -> Any:
    """JSON that the library has checked. A HoldfastError where Python sets bounds of its own."""
    try:
        return json.loads(text) if text else None
    except RecursionError:
        reason = f"is nested deeper than this interpreter reads (its recursion limit is {sys.getrecursionlimit()})"
    except ValueError as error:  # a number of more digits than sys.set_int_max_str_digits() allows
        reason = f"cannot be read by this interpreter: {error}"
    raise error_of(ErrorCode.PROTOCOL, f"{what} {reason}")


_spare: "List[Answer]" = []  # each is used by one request at a time, also when a signal handler makes one in between


def take_answer() -> Answer:
    """Memory for an answer; give_back() it."""
    try:
        return _spare.pop()
    except IndexError:
        return Answer()


def give_back(answer: Answer) -> None:
    answer.free()
    if len(_spare) < _MOST_SPARE:
        _spare.append(answer)


def result_of(answer: Answer) -> Any:
    """The result; an error of the helper is raised."""
    result = loaded(answer.text())
    if answer.is_error:
        message = ctypes.string_at(answer.message).decode("utf-8", "replace")
        raise RemoteError(answer.error_code, message, result, answer.generation)
    return result


def taken(reply: int) -> "Tuple[Any, int]":
    """The result of a reply, which is freed, and the generation that answered; an error of the helper is raised."""
    answer = take_answer()
    try:
        check(lib.hf_reply_into(reply, answer))
        return result_of(answer), int(answer.generation)
    finally:
        give_back(answer)


_IDEMPOTENT = 1
PASSED_ON = 2  # the callback only passes the answer on: no other code runs on the thread that calls it


class Wish(NamedTuple):
    """A request, and how it is wanted."""

    method: str
    params: Any = None
    timeout: "Optional[Seconds]" = 30.0
    idempotent: bool = False
    generation: int = 0

    def arguments(self, flags: int = 0) -> "Tuple[Any, ...]":
        """As the library's functions take them, between the object and what they give."""
        if self.idempotent:
            flags |= _IDEMPOTENT
        return encoded(self.method), dumped(self.params), milliseconds(self.timeout), flags, self.generation


class Asks:
    """Something that requests go through."""

    def _ask(self, wish: Wish) -> Any:
        raise NotImplementedError

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
        before the answer; TimedOut; GaveUp; Overflow. `generation`: only to that one. A session is opened first on
        the generation that the request goes to."""
        return self._ask(Wish(method, params, timeout, idempotent, generation))


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
        with self._owned as pointer:
            wait_done(pointer, timeout)
            check(lib.hf_call_wait(pointer, 0, ctypes.byref(reply)))
        return taken(reply.value or 0)[0]

    def wait_done(self, timeout: "Optional[Seconds]" = None) -> bool:
        """Waits until it is done, and takes nothing. False when it is not in time."""
        with self._owned as pointer:
            try:
                wait_done(pointer, timeout)
            except HoldfastError as error:
                if error.code != ErrorCode.TIMED_OUT:
                    raise
        return self.done()

    def done(self) -> bool:
        return bool(self._call(lib.hf_call_done))

    def cancel(self) -> None:
        self._call(lib.hf_call_cancel)


def wait_done(pointer: Any, timeout: "Optional[Seconds]") -> None:
    # In slices only until it is done: how a call ended (also by its own deadline) is told once.
    wait_interruptibly(lambda ms: 0 if lib.hf_call_wait_done(pointer, ms) else TIMED_OUT, timeout)


class IncomingRequest(Handle):
    """A request that the helper made. Answered once, by reply() or reply_error(); dropped, the helper gets an error."""

    def __init__(self, pointer: int) -> None:
        super().__init__(pointer, lib.hf_request_free)
        self.method = lib.hf_request_method(pointer).decode("utf-8", "replace")
        self.params: Any = None
        self.unreadable: "Optional[HoldfastError]" = None  # why there are no params
        try:
            self.params = loaded(lib.hf_request_params(pointer), "a request of the helper")
        except HoldfastError as error:
            self.unreadable = error

    def reply(self, result: Any) -> None:
        check(self._call(lib.hf_request_reply, dumped(result) or b"null"))

    def reply_error(self, code: int, message: str, data: Any = None) -> None:
        check(self._call(lib.hf_request_reply_error, code, as_message(message), dumped(data)))


def _notified(number: "Optional[int]", method: bytes, params: bytes) -> None:
    target = target_of(number)
    if target is None:
        return
    name = method.decode("utf-8", "replace")
    try:
        read = loaded(params, "a notification of the helper")
    except HoldfastError as error:
        _log.warning("%s: %s", name, error)
        return
    target.call(name, read)


def _served(number: "Optional[int]", request: "Optional[int]") -> None:
    incoming = IncomingRequest(request or 0)
    target = target_of(number)
    if incoming.unreadable is not None:
        _answer(incoming.reply_error, -32602, str(incoming.unreadable))
    elif target is not None:
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
            _answer(request.reply_error, -32601, f"who served {request.method} is gone")
            return
        try:
            result = alive(request.method, request.params)
            if inspect.isawaitable(result):
                if loop is None:
                    raise TypeError("a coroutine can serve only when it was registered from a running event loop")
                asyncio.run_coroutine_threadsafe(_reply_later(request, result), loop)
                return
            _answer(request.reply, result)
        except Exception as error:  # noqa: BLE001 - whatever the handler raises is the helper's answer
            _reply_failure(request, error)

    return serve


async def _reply_later(request: IncomingRequest, result: Any) -> None:
    try:
        _answer(request.reply, await result)
    except Exception as error:  # noqa: BLE001
        _reply_failure(request, error)


def _reply_failure(request: IncomingRequest, error: Exception) -> None:
    if isinstance(error, RemoteError):  # meant for the helper as it is
        _answer(request.reply_error, error.code, error.message, error.data)
        return
    _log.exception("the handler of %s failed", request.method, exc_info=error)
    _answer(request.reply_error, -32000, f"{type(error).__name__}: {error}")


def _answer(how: "Callable[..., None]", *arguments: Any) -> None:
    """Replies, unless nobody waits for it any more: that is no failure of the handler."""
    try:
        how(*arguments)
    except HoldfastError as error:
        if error.code not in (ErrorCode.NOT_FOUND, ErrorCode.CLOSED, ErrorCode.OVERFLOW):
            raise
        _log.debug("an answer came too late: %s", error)
