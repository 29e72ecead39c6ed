"""Options in, callbacks out."""

from __future__ import annotations

import itertools
import math
import os
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
    if seconds is not None and not _is_number(seconds):
        raise TypeError(f"a time is a number of seconds, not a {type(seconds).__name__}")
    if seconds is None or seconds * 1000 >= _FOR_EVER:
        return -1
    if math.isnan(seconds):
        raise ValueError("a time cannot be NaN")
    return max(0, math.ceil(seconds * 1000))


def _is_number(value: Any) -> bool:
    """True and False are meant as something else."""
    return not isinstance(value, bool) and hasattr(type(value), "__float__")


# What the library wants to be told how. It would not look for one of them among those of another kind.
_TEXTS = frozenset(
    (
        "address cancel containment directory errors events_directory framing health_method health_params host if_held "
        "keeper_program key label name profile ready_by session stop_plan task"
    ).split()
)
_NUMBERS = frozenset(
    (
        "cancel_fd fallback_signal grace health_every health_misses health_while_starting health_within idle linger "
        "max_entries max_in_flight max_message max_notifications max_requests max_unsent_bytes max_waiting patience "
        "respawn_cool_down respawn_factor respawn_first respawn_initial respawn_jitter respawn_max respawn_max_failures "
        "respawn_reset_after_held respawn_window serve_within stall ttl wait"
    ).split()
)
_FLAGS = frozenset("init_is_parent now reap".split())
_LISTS = frozenset("argv command environment extra_environment".split())


def _kind_of(name: str, value: Any) -> str:
    """Of an option that we do not know, as it looks: the library says that there is none, or is newer than we are."""
    is_text = isinstance(value, (str, bytes, os.PathLike))
    looks = "text" if is_text else "number" if isinstance(value, bool) or _is_number(value) else ""
    looks = looks or ("list" if isinstance(value, Iterable) else "")
    for names, kind, fits in (
        (_TEXTS, "text", is_text),
        (_NUMBERS, "number", _is_number(value)),
        (_FLAGS, "flag", isinstance(value, int)),
        (_LISTS, "list", looks == "list"),
    ):
        if name in names:
            looks = kind if fits else ""
            break
    if not looks:
        raise TypeError(f"the option {name} cannot be a {type(value).__name__}")
    return looks


class Options:
    """An hf_options for the time of a `with`. A value of the wrong kind is a TypeError."""

    def __init__(self, values: "Mapping[str, Any]") -> None:
        self._values = values

    def __enter__(self) -> int:
        self._pointer: int = lib.hf_options_new()
        try:
            for name, value in self._values.items():
                if value is not None:
                    self._set(name, value)
        except BaseException:
            lib.hf_options_free(self._pointer)
            raise
        return self._pointer

    def _set(self, name: str, value: Any) -> None:
        kind, key = _kind_of(name, value), encoded(name)
        if kind == "text":
            check(lib.hf_options_text(self._pointer, key, encoded(value)))
        elif kind == "list":
            check(lib.hf_options_add(self._pointer, key, None))
            for one in value:
                check(lib.hf_options_add(self._pointer, key, encoded(os.fsdecode(one))))
        else:
            check(lib.hf_options_number(self._pointer, key, float(value)))

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
