"""The files of the queue: one folder per host process, one file per item, a lock that says whether the process lives.

The lock is a POSIX record lock: it goes with its process, and a child of a fork does not inherit it. It also goes when this
process closes any descriptor of that file, so own folders are never looked at from inside.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import secrets
import time
from typing import Any, Dict, List, Optional, Set

_sequence = itertools.count(1)


class Full(Exception):
    """The queue has reached its bound."""


class Item:
    """One file. `key` is the same in every process that ever has it in hand."""

    __slots__ = ("body", "key", "maybe_sent", "path", "size", "tries")

    def __init__(self, path: str, key: str, body: "Dict[str, Any]", size: int, maybe_sent: bool) -> None:
        self.path = path
        self.key = key
        self.body = body
        self.size = size
        self.maybe_sent = maybe_sent
        self.tries = 0


class _Folder:
    """One that we own, by its lock."""

    def __init__(self, path: str, lock: int) -> None:
        self.path = path
        self.lock = lock

    def remove(self) -> bool:
        """When it is empty but for its lock, or was wiped away."""
        try:
            if any(name != "lock" for name in os.listdir(self.path)):
                return False
            os.unlink(os.path.join(self.path, "lock"))
            os.rmdir(self.path)
        except FileNotFoundError:
            pass
        os.close(self.lock)
        return True


def _lock(path: str, create: bool) -> "Optional[int]":
    """The descriptor of the lock; None when another process has it, or it is gone."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it may have removed it in the meantime.
        if os.fstat(descriptor).st_ino == os.stat(path).st_ino:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


class Spool:
    MAX_ITEMS = 10_000
    MAX_BYTES = 64 << 20

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._own: "Optional[_Folder]" = None
        self._adopted: "Dict[str, _Folder]" = {}
        self._items = 0
        self._bytes = 0

    def add(self, body: "Dict[str, Any]") -> Item:
        """Durable when it returns. The item's body is as it was written: half of a surrogate pair, which no UTF-8 can say, is
        a question mark in it."""
        text = _encoded(body)
        if self._items >= self.MAX_ITEMS or self._bytes + len(text) > self.MAX_BYTES:
            raise Full(f"{self._items} turns wait in {self.folder}, and no more are kept")
        if self._own is not None and not os.path.exists(self._own.path):
            self.close()  # wiped away under us
        folder = self._make_own()
        key = secrets.token_hex(8)
        path = os.path.join(folder.path, f"{next(_sequence):010d}-{key}.json")
        _write(path, text)
        self._count(1, len(text))
        return Item(path, key, json.loads(text), len(text), False)

    def rewrite(self, item: Item) -> None:
        _write(item.path, _encoded(item.body))

    def remove(self, item: Item) -> None:
        try:
            os.unlink(item.path)
        except FileNotFoundError:
            pass  # somebody cleaned up by hand; the store has it
        self._count(-1, -item.size)
        self._tidy(os.path.dirname(item.path))

    def set_aside(self, item: Item) -> str:
        """Out of the way, for a person to look at; the newest hundred are kept."""
        folder = os.path.join(self.folder, "refused")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for name in sorted(os.listdir(folder))[:-99]:
            os.unlink(os.path.join(folder, name))
        path = os.path.join(folder, f"{time.time_ns():020d}-{item.key}.json")
        os.replace(item.path, path)
        self._count(-1, -item.size)
        self._tidy(os.path.dirname(item.path))
        return path

    def adopt(self) -> "List[Item]":
        """What processes left that are no more, oldest first."""
        try:
            names = sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return []
        mine: "Set[str]" = {os.path.basename(path) for path in self._adopted}
        if self._own is not None:
            mine.add(os.path.basename(self._own.path))
        items: "List[Item]" = []
        for name in names:
            if name in mine or name == "refused":
                continue
            path = os.path.join(self.folder, name)
            lock = _lock(os.path.join(path, "lock"), create=False)
            if lock is None:
                _remove_unlocked(path)
                continue
            self._adopted[path] = _Folder(path, lock)
            items.extend(self._read(path))
            self._tidy(path)
        return items

    def close(self) -> None:
        """The process, or its last provider, is done: an empty folder goes."""
        if self._own is not None and self._own.remove():
            self._own = None

    def _read(self, folder: str) -> "List[Item]":
        items = []
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if not name.endswith(".json"):
                if name != "lock":
                    os.unlink(path)  # was being written when its process died: sync_turn had not returned
                continue
            try:
                with open(path, "rb") as file:
                    text = file.read()
            except OSError:
                continue  # not readable: it stays where it is, and so does its folder
            key = name[:-5].rpartition("-")[2]
            try:
                body = json.loads(text)
                item = Item(path, key, {**body, "kind": body["kind"], "session": body["session"]}, len(text), True)
            except (ValueError, KeyError, TypeError):
                self.set_aside(Item(path, key, {}, 0, False))
                continue
            self._count(1, item.size)
            items.append(item)
        return items

    def _make_own(self) -> _Folder:
        while self._own is None:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            # By time, so that what is older is taken up first.
            path = os.path.join(self.folder, f"{int(time.time() * 1000):013d}-{os.getpid()}-{secrets.token_hex(4)}")
            os.mkdir(path, 0o700)
            try:
                lock = _lock(os.path.join(path, "lock"), create=True)
            except FileNotFoundError:
                continue
            if lock is not None:  # else another process took it for left behind, in the instant before the lock
                self._own = _Folder(path, lock)
        return self._own

    def _tidy(self, path: str) -> None:
        folder = self._adopted.get(path)
        if folder is not None and folder.remove():
            del self._adopted[path]

    def _count(self, items: int, size: int) -> None:
        self._items += items
        self._bytes += size


def _encoded(body: "Dict[str, Any]") -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _remove_unlocked(path: str) -> None:
    """A folder whose process died before it made the lock is empty; any other stays."""
    try:
        os.rmdir(path)
    except OSError:
        pass


def _write(path: str, text: bytes) -> None:
    temporary = path + ".tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(text)
        while view:
            view = view[os.write(descriptor, view):]
        os.fsync(descriptor)
    except BaseException:
        os.unlink(temporary)
        raise
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
