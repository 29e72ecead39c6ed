"""Waiting in the library, so that the main thread still hears a Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import threading
from typing import Any, Callable, List, Optional, TypeVar

from ._support import Seconds, milliseconds
from .errors import ErrorCode, check

TIMED_OUT = int(ErrorCode.TIMED_OUT)
SLICE_MS = 100  # how long the main thread waits before it looks for signals


def wait_interruptibly(wait: "Callable[[int], int]", timeout: "Optional[Seconds]") -> None:
    """Waits in the library. On the main thread in slices, because only between them Python hears a Ctrl-C."""
    left = milliseconds(timeout)
    if threading.current_thread() is not threading.main_thread():
        check(wait(left))
        return
    while True:
        piece = SLICE_MS if left < 0 else min(left, SLICE_MS)
        code = wait(piece)
        if left >= 0:
            left -= piece
        if code != TIMED_OUT or left == 0:
            check(code)
            return


_T = TypeVar("_T")


def beside(
    function: "Callable[[], _T]",
    give_up: "Optional[Callable[[], Any]]" = None,
    undo: "Optional[Callable[[_T], Any]]" = None,
) -> "_T":
    """Runs what cannot wait in slices. On the main thread it runs on another one, while this one hears a Ctrl-C. That one
    goes on by itself then; or `give_up` makes it come out, and what it has got nevertheless goes to `undo`."""
    if threading.current_thread() is not threading.main_thread():
        return function()
    outcome: "List[Any]" = []
    done = threading.Event()

    def run() -> None:
        try:
            outcome.extend((True, function()))
        except BaseException as error:  # noqa: BLE001 - raised again below
            outcome.extend((False, error))
        done.set()

    thread = threading.Thread(target=run, name="holdfast-beside", daemon=True)
    try:
        try:
            thread.start()
        except RuntimeError:  # no thread any more: the interpreter exits, or there are too many
            run()
        done.wait()
    except BaseException:
        if give_up is not None:
            give_up()
            if thread.ident is not None:  # else it was never started
                done.wait()
                if outcome[0] and undo is not None:
                    undo(outcome[1])
        raise
    if not outcome[0]:
        raise outcome[1]
    return outcome[1]  # type: ignore[no-any-return]


def until_cancelled(
    function: "Callable[[int], _T]", cancel_fd: int = -1, undo: "Optional[Callable[[_T], Any]]" = None
) -> "_T":
    """function(descriptor) waits until that is readable, or less. So it is when `cancel_fd` is, and on the main thread at
    a Ctrl-C; what it has got nevertheless goes to `undo` then."""
    if threading.current_thread() is not threading.main_thread():
        return function(cancel_fd)
    ours, theirs = socket.socketpair()
    either = select.epoll()

    def wait() -> "_T":
        try:
            return function(either.fileno())
        finally:
            either.close()
            theirs.close()

    try:
        either.register(theirs, select.EPOLLIN)
        if cancel_fd >= 0:
            either.register(cancel_fd, select.EPOLLIN)
    except OSError:  # no descriptor that can be waited for so
        either.close()
        theirs.close()
        ours.close()
        return function(cancel_fd)
    with ours:
        return beside(wait, lambda: ours.shutdown(socket.SHUT_RDWR), undo)


def settler(
    loop: "asyncio.AbstractEventLoop", future: "asyncio.Future[Any]"
) -> "Callable[[Optional[BaseException], Any], None]":
    """settle(error, result), from any thread: the future has it, unless nobody awaits it any more."""

    def settle(error: "Optional[BaseException]", result: Any) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(result)

    def hand_over(error: "Optional[BaseException]", result: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, error, result)

    return hand_over


async def beside_async(function: "Callable[[], _T]") -> "_T":
    """Runs what waits on a thread of its own, for an event loop. Cancelling the task abandons it: it goes on by itself."""
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[_T]" = loop.create_future()
    settle = settler(loop, future)

    def run() -> None:
        try:
            result = function()
        except Exception as error:  # noqa: BLE001 - raised by the await
            settle(error, None)
        else:
            settle(None, result)

    threading.Thread(target=run, name="holdfast-beside", daemon=True).start()
    return await future
