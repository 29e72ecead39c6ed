"""What a person is told: each failure once."""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Iterator, Set

from .locks import ProcessLock

log = logging.getLogger("holdfast.hermes")
HELD = "hold"  # the topic of a helper that cannot be had


@contextlib.contextmanager
def about(topic: str) -> "Iterator[None]":
    """Whatever fails inside is one failure, whoever is the first to tell of it."""
    try:
        yield
    except Exception as error:
        setattr(error, "holdfast_topic", topic)
        raise


def topic_of(error: Any, otherwise: str) -> str:
    return str(getattr(error, "holdfast_topic", otherwise))


class OnceLog:
    """Each failure is told once; when it is over, and comes again, it is told again."""

    def __init__(self) -> None:
        self._told: "Set[str]" = set()
        self._lock = ProcessLock()

    def warn(self, topic: str, message: str) -> None:
        with self._lock:
            if topic in self._told:
                return
            if len(self._told) > 1000:
                self._told.clear()
            self._told.add(topic)
        log.warning("holdfast: %s", message)

    def well(self, topic: str) -> None:
        if topic in self._told:
            with self._lock:
                self._told.discard(topic)


# Not part of what is shared through the binding: it must work when that cannot be loaded.
once = OnceLog()
