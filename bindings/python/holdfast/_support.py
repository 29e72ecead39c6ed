"""Options in, callbacks out."""

from __future__ import annotations

import itertools
import math
import weakref
from typing import Any, Callable, Iterable, Mapping, Optional, Union

from ._handle import lock
from ._library import RELEASE, encoded, lib
from .errors import check

Seconds = Union[int, float]
_FOR_EVER = 2**62


def milliseconds(seconds: "Optional[Seconds]") -> int:
    """For the library: None, and what is longer than it can count, is for ever. Rounded up, so that a short time is not
    none."""
    if seconds is None or seconds * 1000 >= _FOR_EVER:
        return -1
    if math.isnan(seconds):
        raise ValueError("a time cannot be NaN")
    return max(0, math.ceil(seconds * 1000))


class Options:
    """An hf_options for the time of a `with`."""

    def __init__(self, values: "Mapping[str, Any]") -> None:
        self._values = values

    def __enter__(self) -> int:
        self._pointer: int = lib.hf_options_new()
        try:
            for name, value in self._values.items():
                self._set(encoded(name), value)
        except BaseException:
            lib.hf_options_free(self._pointer)
            raise
        return self._pointer

    def _set(self, name: "Optional[bytes]", value: Any) -> None:
        if value is None:
            return
        if isinstance(value, bool) or isinstance(value, (int, float)):
            check(lib.hf_options_number(self._pointer, name, float(value)))
        elif isinstance(value, str):
            check(lib.hf_options_text(self._pointer, name, encoded(value)))
        elif isinstance(value, Iterable):
            check(lib.hf_options_add(self._pointer, name, None))
            for one in value:
                check(lib.hf_options_add(self._pointer, name, encoded(str(one))))
        else:
            raise TypeError(f"the option {name!r} cannot be a {type(value).__name__}")

    def __exit__(self, *_: Any) -> None:
        lib.hf_options_free(self._pointer)


class Target:
    """Something that the library calls back. Whoever registers it owns it; the library knows only a number, and finds
    it through a table that does not keep it alive. So no callback pins an object that is otherwise gone."""

    __slots__ = ("call", "number", "__weakref__")

    def __init__(self, call: "Callable[..., Any]") -> None:
        self.call = call
        self.number = next(_numbers)
        _targets[self.number] = self


_numbers = itertools.count(1)
_targets: "weakref.WeakValueDictionary[int, Target]" = weakref.WeakValueDictionary()
# Those whose callback comes exactly once: kept until then.
_kept: "dict[int, Target]" = {}


def target_of(number: "Optional[int]") -> "Optional[Target]":
    return _targets.get(number or 0)


def keep(target: Target) -> None:
    with lock:
        _kept[target.number] = target


def _released(number: "Optional[int]") -> None:
    with lock:
        _kept.pop(number or 0, None)


released = RELEASE(_released)
no_release = RELEASE(0)


class WeakCallable:
    """Calls a bound method without keeping its object alive; anything else is kept as it is."""

    def __init__(self, function: "Callable[..., Any]") -> None:
        self._method: "Optional[weakref.WeakMethod[Any]]" = None
        self._function: "Optional[Callable[..., Any]]" = None
        if hasattr(function, "__self__") and hasattr(function, "__func__"):
            self._method = weakref.WeakMethod(function)
        else:
            self._function = function

    def get(self) -> "Optional[Callable[..., Any]]":
        return self._method() if self._method is not None else self._function
