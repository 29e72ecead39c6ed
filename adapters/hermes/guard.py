"""What stands between the host and every failure in here."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar, cast

from .shared import once

GAVE_UP = 17  # the supervisor's code for a helper that failed too often
F = TypeVar("F", bound=Callable[..., Any])


def guarded(otherwise: "Callable[[], Any]") -> "Callable[[F], F]":
    """Whatever fails inside is told once, with what to do, and the host gets `otherwise()`."""

    def wrap(function: F) -> F:
        @functools.wraps(function)
        def call(self: Any, *args: Any, **words: Any) -> Any:
            try:
                return function(self, *args, **words)
            except Exception as error:  # noqa: B902 - a memory that fails must not end a chat
                if getattr(error, "code", None) == GAVE_UP:
                    self._let_go()
                once.warn(
                    function.__name__,
                    f"{function.__name__} failed ({type(error).__name__}: {error}); the chat goes on without it. "
                    "See: holdfast hermes status, holdfast events",
                )
                return otherwise()

        return cast(F, call)

    return wrap
