"""One helper per process and key, alive exactly as long as somebody holds it.

    with holdfast.Supervisor() as supervisor:
        hold = supervisor.hold(["memory-bridge", "--stdio"])
        hits = hold.request("memory.search", {"query": "tea"})

A Hold that is dropped is released; nothing here keeps one alive: not the threads of the library, not a subscription,
not a handler. Times are in seconds. All of it may be used from any thread; `*_async` from an event loop.
"""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import json
import logging
import os
import threading
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ._library import ANSWERED, NOTIFIED, SERVED, SESSION_OPEN, encoded, lib, take_text
from ._support import Options, Seconds, Target, WeakCallable, keep, milliseconds, no_release, released, target_of
from .errors import Closed, ErrorCode, HoldfastError, RemoteError, check, error_of

_log = logging.getLogger("holdfast")
_TIMED_OUT = int(ErrorCode.TIMED_OUT)
_SLICE_MS = 100  # how long the main thread waits before it looks for signals

# Spec options that are times: given in seconds, as everything here.
_TIMES = (
    "health_every health_within health_while_starting stall linger serve_within respawn_first respawn_initial respawn_max "
    "respawn_reset_after_held respawn_window respawn_cool_down"
).split()


def _dumped(params: Any) -> "Optional[bytes]":
    if params is None:
        return None
    return json.dumps(params, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _loaded(text: "Optional[bytes]") -> Any:
    return json.loads(text) if text else None


def _taken(reply: int) -> Any:
    """The result of a reply, which is freed; an error of the helper is raised."""
    try:
        if lib.hf_reply_is_error(reply):
            raise RemoteError(
                lib.hf_reply_error_code(reply),
                lib.hf_reply_error_message(reply).decode("utf-8", "replace"),
                _loaded(lib.hf_reply_json(reply)),
                lib.hf_reply_generation(reply),
            )
        return _loaded(lib.hf_reply_json(reply))
    finally:
        lib.hf_reply_free(reply)


class _Handle:
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


class Registration(_Handle):
    """A subscription or a served method: lives as long as its hold, or until close()."""

    def __init__(self, pointer: int, target: Target) -> None:
        super().__init__(pointer, lib.hf_registration_free)
        self._target = target


class Call(_Handle):
    """A request under way. Dropping it does not cancel it."""

    def __init__(self, pointer: int) -> None:
        super().__init__(pointer, lib.hf_call_free)

    def wait(self, timeout: "Optional[Seconds]" = None) -> Any:
        """The result, once. TimedOut when it is not there in time: the call itself goes on."""
        reply = ctypes.c_void_p()
        pointer = self._get()
        # In slices only until it is done: how a call ended (also by its own deadline) is told once.
        _wait_interruptibly(lambda ms: 0 if lib.hf_call_wait_done(pointer, ms) else _TIMED_OUT, timeout)
        check(lib.hf_call_wait(pointer, 0, ctypes.byref(reply)))
        return _taken(reply.value or 0)

    def done(self) -> bool:
        return bool(lib.hf_call_done(self._get()))

    def cancel(self) -> None:
        lib.hf_call_cancel(self._get())


def _wait_interruptibly(wait: "Callable[[int], int]", timeout: "Optional[Seconds]") -> None:
    """Waits in the library. On the main thread in slices, because only between them Python hears a Ctrl-C."""
    left = milliseconds(timeout)
    if threading.current_thread() is not threading.main_thread():
        check(wait(left))
        return
    while True:
        piece = _SLICE_MS if left < 0 else min(left, _SLICE_MS)
        code = wait(piece)
        if left >= 0:
            left -= piece
        if code != _TIMED_OUT or left == 0:
            check(code)
            return


class IncomingRequest:
    """A request that the helper made. Answered once, by reply() or reply_error(); dropped, the helper gets an error."""

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer
        self._finalizer = weakref.finalize(self, lib.hf_request_free, pointer)
        self.method = lib.hf_request_method(pointer).decode("utf-8", "replace")
        self.params = _loaded(lib.hf_request_params(pointer))

    def reply(self, result: Any) -> None:
        check(lib.hf_request_reply(self._pointer, _dumped(result) or b"null"))

    def reply_error(self, code: int, message: str, data: Any = None) -> None:
        check(lib.hf_request_reply_error(self._pointer, code, encoded(message), _dumped(data)))


@NOTIFIED
def _on_notified(number: "Optional[int]", method: bytes, params: bytes) -> None:
    target = target_of(number)
    if target is not None:
        target.call(method.decode("utf-8", "replace"), _loaded(params))


@SERVED
def _on_served(number: "Optional[int]", request: "Optional[int]") -> None:
    incoming = IncomingRequest(request or 0)
    target = target_of(number)
    if target is not None:
        target.call(incoming)


@ANSWERED
def _on_answered(number: "Optional[int]", error: int, message: bytes, reply: "Optional[int]") -> None:
    target = target_of(number)
    if target is not None:
        target.call(error, message.decode("utf-8", "replace"), reply or 0)
    elif reply:
        lib.hf_reply_free(reply)


def _serve_with(function: WeakCallable, loop: "Optional[asyncio.AbstractEventLoop]") -> "Callable[[IncomingRequest], None]":
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


class Hold(_Handle):
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
        _wait_interruptibly(lambda ms: lib.hf_hold_wait_ready(self._get(), ms, ctypes.byref(generation)), timeout)
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
        arguments = (encoded(method), _dumped(params), milliseconds(timeout), 1 if idempotent else 0, generation)
        reply = ctypes.c_void_p()
        if threading.current_thread() is threading.main_thread():
            return self._started(arguments).wait()
        check(lib.hf_hold_request(self._get(), *arguments, ctypes.byref(reply)))
        return _taken(reply.value or 0)

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
        return self._started((encoded(method), _dumped(params), milliseconds(timeout), 1 if idempotent else 0, generation))

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
                result = _taken(reply)
            except Exception as raised:  # noqa: BLE001 - it belongs to `then`
                error = raised
            try:
                then(error, result, answered_by)
            except Exception:  # noqa: BLE001 - there is nobody to raise it to
                _log.exception("what was to happen after %s failed", method)

        return self._started_with(
            (encoded(method), _dumped(params), milliseconds(timeout), 1 if idempotent else 0, generation), answered
        )

    def _started_with(self, arguments: "tuple[Any, ...]", answered: "Callable[[int, str, int], None]") -> Call:
        target = Target(answered)
        keep(target)
        call = ctypes.c_void_p()
        check(
            lib.hf_hold_start_with(
                self._get(), *arguments, _on_answered, target.number, released, ctypes.byref(call)
            )
        )
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
                result = _taken(reply)
            except Exception as raised:  # noqa: BLE001 - it belongs to who awaits
                error = raised
            try:
                loop.call_soon_threadsafe(settle, error, result)
            except RuntimeError:
                pass  # the loop is closed: nobody awaits

        handle = self._started_with(
            (encoded(method), _dumped(params), milliseconds(timeout), 1 if idempotent else 0, generation), answered
        )
        try:
            return await future
        except asyncio.CancelledError:
            handle.cancel()
            raise

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification to the present generation."""
        check(lib.hf_hold_notify(self._get(), encoded(method), _dumped(params)))

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
        check(lib.hf_hold_subscribe(self._get(), encoded(method), _on_notified, target.number, no_release, ctypes.byref(out)))
        return self._registered(Registration(out.value or 0, target))

    def serve(self, method: str, function: "Callable[[str, Any], Any]") -> Registration:
        """Answers requests of the helper with what function(method, params) returns, or raises. The newest hold that serves a
        method (or "*") is asked. A coroutine function runs on the event loop it was registered from. A bound method
        does not keep its object alive."""
        try:
            loop: "Optional[asyncio.AbstractEventLoop]" = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        target = Target(_serve_with(WeakCallable(function), loop))
        out = ctypes.c_void_p()
        check(lib.hf_hold_serve(self._get(), encoded(method), _on_served, target.number, no_release, ctypes.byref(out)))
        return self._registered(Registration(out.value or 0, target))

    def _registered(self, registration: Registration) -> Registration:
        self._registrations = [one for one in self._registrations if not one.closed]
        self._registrations.append(registration)
        return registration

    def replace(self, seen: int, timeout: "Optional[Seconds]" = 30.0) -> int:
        """Sees to it that another generation than `seen` is there, and waits for it."""
        generation = ctypes.c_uint64()
        check(lib.hf_hold_replace(self._get(), seen, milliseconds(timeout), ctypes.byref(generation)))
        return generation.value

    def retry(self) -> None:
        """After GaveUp, or during a pause: try again now."""
        check(lib.hf_hold_retry(self._get()))

    def session(self, open: "Optional[Callable[[Session], Any]]" = None) -> "Session":
        """Requests that need to be opened on each new generation first: open(session) does it."""
        return Session._of(self, open)

    @property
    def status(self) -> "Dict[str, Any]":
        text = ctypes.c_void_p()
        check(lib.hf_hold_status(self._get(), ctypes.byref(text)))
        return dict(json.loads(take_text(text)))

    @property
    def pid(self) -> int:
        """Of the helper; 0 when none runs."""
        return int(self.status["pid"])


_raised_in_open = threading.local()


@SESSION_OPEN
def _on_open(number: "Optional[int]", inside: "Optional[int]") -> int:
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


class Session:
    """Requests that belong together. It does not keep the helper alive."""

    def __init__(self, pointer: int, owned: bool = True) -> None:
        self._pointer = pointer
        self._target: "Optional[Target]" = None
        if owned:
            weakref.finalize(self, lib.hf_session_free, pointer)

    @staticmethod
    def _of(hold: Hold, open: "Optional[Callable[[Session], Any]]") -> "Session":
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
        reply = ctypes.c_void_p()
        _raised_in_open.error = None
        code = lib.hf_session_request(
            self._pointer,
            encoded(method),
            _dumped(params),
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
        return _taken(reply.value or 0)

    @property
    def open_on(self) -> int:
        """The generation it is open on; 0 when it is not."""
        return int(lib.hf_session_open_on(self._pointer))


class Supervisor(_Handle):
    """Owns helpers. Collected, closed, or at the exit of the interpreter, it ends them by their stop plans."""

    def __init__(self, *, profile: "Optional[str]" = None, keeper_program: "Optional[str]" = None) -> None:
        if keeper_program is None and not os.environ.get("HOLDFAST_KEEP"):
            beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "holdfast-keep")
            keeper_program = beside if os.access(beside, os.X_OK) else None
        out = ctypes.c_void_p()
        with Options({"profile": profile, "keeper_program": keeper_program}) as options:
            check(lib.hf_supervisor_new(options, ctypes.byref(out)))
        super().__init__(out.value or 0, lib.hf_supervisor_free)

    def __enter__(self) -> "Supervisor":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def hold(
        self,
        command: "Sequence[str]",
        *,
        directory: "Optional[str]" = None,
        environment: "Optional[Mapping[str, str]]" = None,
        extra_environment: "Optional[Mapping[str, str]]" = None,
        **options: Any,
    ) -> Hold:
        """A hold on the helper of this key; returns at once, the start goes on by itself. Options are those of
        HelperSpec in holdfast/supervisor.hpp, by the names in holdfast.h: framing, cancel, key, label, ready_by,
        health_method, health_params, stop_plan, containment, errors, limits; and times in seconds: linger, stall,
        health_every, respawn_initial, ..."""
        values: "Dict[str, Any]" = dict(options)
        for name in _TIMES:
            if values.get(name) is not None:
                values[name] = milliseconds(values[name])
        if isinstance(values.get("health_params"), (dict, list)):
            values["health_params"] = json.dumps(values["health_params"])
        values["command"] = list(command)
        values["directory"] = os.fspath(directory) if directory is not None else None
        for name, variables in (("environment", environment), ("extra_environment", extra_environment)):
            if variables is not None:
                values[name] = [f"{key}={value}" for key, value in sorted(variables.items())]
        out = ctypes.c_void_p()
        with Options(values) as pointer:
            check(lib.hf_supervisor_hold(self._get(), pointer, ctypes.byref(out)))
        return Hold(out.value or 0)

    def shutdown(self, timeout: "Optional[Seconds]" = None) -> None:
        """Ends all helpers and returns when nothing is left. Holds are Closed from now on."""
        _wait_interruptibly(lambda ms: lib.hf_supervisor_shutdown(self._get(), ms), timeout)

    @property
    def status(self) -> "List[Dict[str, Any]]":
        text = ctypes.c_void_p()
        check(lib.hf_supervisor_status(self._get(), ctypes.byref(text)))
        return list(json.loads(take_text(text)))
