"""What stands between the host and every failure in here."""

from __future__ import annotations

import errno
import functools
from typing import Any, Callable, TypeVar, cast

from .once import once, topic_of
from .outbox import Full

GAVE_UP = 17  # the supervisor's code for a helper that failed too often
WHERE_TO_LOOK = "See: holdfast hermes status, holdfast logs hermes-memory"
F = TypeVar("F", bound=Callable[..., Any])


def advice(error: BaseException) -> str:
    """What a person can do about it."""
    number = getattr(error, "errno", None)
    if isinstance(error, Full) or number in (errno.ENOSPC, errno.EDQUOT):
        return "Make room there, or see why it is not stored: holdfast hermes status, holdfast logs hermes-memory"
    if number in (errno.EROFS, errno.EACCES, errno.EPERM) and getattr(error, "filename", None):
        return f"See that this user may write there: {getattr(error, 'filename')}"
    if isinstance(error, (ImportError, FileNotFoundError, PermissionError)):
        return "Run: holdfast hermes install; or see that this user may read and write there"
    return WHERE_TO_LOOK


def guarded(otherwise: "Callable[[], Any]", tells: bool = False) -> "Callable[[F], F]":
    """Whatever fails inside is told once, with what to do, and the host gets `otherwise()`. When it works again, the next failure
    is news; `tells`: the function says itself when it does, since it may return without having tried."""

    def wrap(function: F) -> F:
        topic = function.__name__

        @functools.wraps(function)
        def call(self: Any, *args: Any, **words: Any) -> Any:
            try:
                out = function(self, *args, **words)
                if not tells:
                    once.well(topic)
                return out
            except Exception as error:  # noqa: B902 - a memory that fails must not end a chat
                if getattr(error, "code", None) == GAVE_UP:
                    self._let_go()
                once.warn(
                    topic_of(error, topic),
                    f"{topic} failed ({type(error).__name__}: {error}); the chat goes on without it. {advice(error)}"
                )
                return otherwise()

        return cast(F, call)

    return wrap
