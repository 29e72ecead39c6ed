"""Errors. Each carries its code, and is also the Python exception that a caller would expect, where there is one."""

from __future__ import annotations

import enum
from typing import Any, Dict, Optional, Tuple, Type

from ._library import lib


class ErrorCode(enum.IntEnum):
    """What went wrong, in the terms a caller can act on. The numbers are those of the C and C++ faces."""

    INVALID_ARGUMENT = 1
    HELD = 2
    TIMED_OUT = 3
    ORPHANED = 4
    SUPERSEDED = 5
    TOO_MANY_TAKEOVERS = 6
    NOT_PERMITTED = 7
    UNREACHABLE = 8
    LOST = 9
    NO_SPACE = 10
    IO = 11
    NOT_FOUND = 12
    UNSAFE_DIRECTORY = 13
    SURVIVORS = 14
    CANNOT_START = 15
    UNSUPPORTED = 16
    GAVE_UP = 17
    CLOSED = 18
    OVERFLOW = 19
    PROTOCOL = 20
    CANCELLED = 21
    CANNOT_CREATE = 22


def _remade(kind: "Type[BaseException]", of: "Type[BaseException]", arguments: "Tuple[Any, ...]") -> BaseException:
    """For pickle and copy: `args` has only the text. Also of a class that somebody made of ours."""
    error = kind.__new__(kind)
    of.__init__(error, *arguments)
    return error


class HoldfastError(Exception):
    """Any failure of Holdfast. `code` says which; the text is one sentence for a person."""

    code: ErrorCode = ErrorCode.IO

    def __init__(self, message: str, code: "Optional[ErrorCode]" = None, sys_errno: int = 0) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.errno = sys_errno

    def __reduce__(self) -> "Tuple[Any, ...]":
        words = self.args[0] if self.args else ""
        return _remade, (type(self), HoldfastError, (words, self.code, self.errno)), dict(self.__dict__)


class InvalidArgument(HoldfastError, ValueError):
    code = ErrorCode.INVALID_ARGUMENT


class Held(HoldfastError):
    code = ErrorCode.HELD


class TimedOut(HoldfastError, TimeoutError):
    code = ErrorCode.TIMED_OUT


class NotPermitted(HoldfastError, PermissionError):
    code = ErrorCode.NOT_PERMITTED


class NotFound(HoldfastError, LookupError):
    code = ErrorCode.NOT_FOUND


class GaveUp(HoldfastError):
    """The helper failed too often. The text says why, and how to try again."""

    code = ErrorCode.GAVE_UP


class Closed(HoldfastError, ConnectionError):
    """The transport, the hold or the supervisor was closed."""

    code = ErrorCode.CLOSED


class Overflow(HoldfastError):
    """A stated bound was reached."""

    code = ErrorCode.OVERFLOW


class Cancelled(HoldfastError):
    code = ErrorCode.CANCELLED


class RemoteError(Exception):
    """An error that the helper itself answered."""

    def __init__(self, code: int, message: str, data: Any, generation: int) -> None:
        super().__init__(f"{message} (code {code})")
        self.code = code
        self.message = message
        self.data = data
        self.generation = generation

    def __reduce__(self) -> "Tuple[Any, ...]":
        arguments = (self.code, self.message, self.data, self.generation)
        return _remade, (type(self), RemoteError, arguments), dict(self.__dict__)


_CLASSES: "Dict[int, Type[HoldfastError]]" = {
    int(one.code): one
    for one in (InvalidArgument, Held, TimedOut, NotPermitted, NotFound, GaveUp, Closed, Overflow, Cancelled)
}


def error_of(code: int, message: str, sys_errno: int = 0) -> HoldfastError:
    kind = _CLASSES.get(code, HoldfastError)
    try:
        known = ErrorCode(code)
    except ValueError:  # of a newer library
        known = ErrorCode.IO
    error = kind.__new__(kind)
    HoldfastError.__init__(error, message, known, sys_errno)
    return error


def check(code: int) -> None:
    """Raises what a function of the library returned, unless it is HF_OK. On the thread that called it."""
    if code != 0:
        raise error_of(code, lib.hf_last_message().decode("utf-8", "replace"), lib.hf_last_errno())
