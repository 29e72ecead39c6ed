"""Who is speaking, on disk: the turns that have begun and whose sync has not come, each with its author.

A host that ends in a turn leaves its words in the transcript, which does not say who wrote them. The next process reads it here.
One small file for each such turn, made when it begins and removed at its sync; what is said is not in it. A file that is lost
costs nobody their privacy: words whose author cannot be told are shown to nobody.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import time
from typing import List, NamedTuple, Optional

from .author import NOBODY, Author
from .spool import mark_of
from .words import bare, mark, normal

MOST = 4096  # turns; of older ones it is not known any more
_LOOK = 256  # turns that begin between two looks at how many there are
_sequence = itertools.count(1)


class Speaker(NamedTuple):
    key: str  # of the turn: the name of its file, without the session's mark
    author: "Optional[Author]"  # None: the owner of a session, who has no id

    def said(self, text: str) -> bool:
        """The turn began with these words; one of both may have something of the host's around them."""
        whole, inner = self.key.split("-")[2:4]
        return whole in (mark(text), mark(bare(text))) or inner == mark(text)


class Speakers:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._begun = 0

    def begin(self, session: str, text: str, author: "Optional[Author]") -> str:
        """Returns the key. Raises OSError."""
        key = f"{time.time_ns():020d}-{next(_sequence):06d}-{mark(text)}-{mark(bare(normal(text)))}-{secrets.token_hex(4)}"
        if self._begun % _LOOK == 0:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            self._tidy()
        self._begun += 1
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(self._path(session, key), flags, 0o600)
        except FileNotFoundError:  # wiped away under us
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            descriptor = os.open(self._path(session, key), flags, 0o600)
        try:
            os.write(descriptor, json.dumps(author).encode())
        finally:
            os.close(descriptor)
        return key

    def end(self, session: str, key: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path(session, key))

    def of(self, session: str) -> "List[Speaker]":
        """In the order in which they began. Raises OSError when they cannot be read."""
        return [Speaker(key, _author_in(self._path(session, key))) for key in self._keys(session)]

    def goes_on(self, session: str, before: str) -> None:
        """The conversation has another name as well."""
        for key in self._keys(before):
            with contextlib.suppress(OSError):
                os.link(self._path(before, key), self._path(session, key))

    def _keys(self, session: str) -> "List[str]":
        start = mark_of(session) + "-"
        return sorted(name[len(start):] for name in self._names() if name.startswith(start))

    def _names(self) -> "List[str]":
        try:
            return [name for name in os.listdir(self.folder) if name.count("-") == 5]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _path(self, session: str, key: str) -> str:
        return os.path.join(self.folder, f"{mark_of(session)}-{key}")

    def _tidy(self) -> None:
        names = self._names()
        for name in sorted(names, key=lambda one: one.partition("-")[2])[:max(0, len(names) - MOST)]:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.folder, name))


def _author_in(path: str) -> "Optional[Author]":
    """What is no author any more is somebody."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(1 << 16))
        if found is None:
            return None
        number, name, bot = found
        return Author(str(number), str(name), bot is True)
    except (OSError, ValueError, TypeError, RecursionError):
        return NOBODY
