"""The files of the queue: one folder per host process, one file per item, a lock that says whether the process lives.

The lock is a POSIX record lock: it goes with its process, and a child of a fork does not inherit it. It also goes when this
process closes any descriptor of that file, so own folders are never looked at from inside.

The name of a file says what is needed to put it in its place: its time, and a mark of its session. What is in it is read when
it is its turn, so that a long queue costs no more than a list of names.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
import secrets
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

_sequence = itertools.count(1)
REFUSED = "refused"
LOCK = "lock"
LEFT = "left"  # in a folder: the process that made it is no more, whoever has it in hand


class Full(Exception):
    """The queue has reached its bound."""


class Torn(Exception):
    """A file that is no item any more."""


def mark_of(session: str) -> str:
    """Of a session, for the names of files."""
    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:12]


class Folder:
    """One that we own, by its lock."""

    __slots__ = ("count", "lock", "own", "path", "size")

    def __init__(self, path: str, lock: int, own: bool) -> None:
        self.path = path
        self.lock = lock
        self.own = own
        self.count = 0
        self.size = 0

    def let_go(self) -> None:
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    def remove(self) -> bool:
        """When it is empty but for its lock, or was wiped away."""
        try:
            names = os.listdir(self.path)
            if any(name not in (LOCK, LEFT) for name in names):
                return False
            for name in sorted(names):
                os.unlink(os.path.join(self.path, name))
            os.rmdir(self.path)
        except FileNotFoundError:
            pass
        self.let_go()
        return True


class Item:
    """One file. Its time and its session's mark are the same in every process that ever has it in hand."""

    __slots__ = ("folder", "mark", "name", "size", "ts")

    def __init__(self, folder: Folder, name: str, size: int) -> None:
        self.folder = folder
        self.name = name
        self.size = size
        self.ts, self.mark = _place_of(name)

    @property
    def path(self) -> str:
        return os.path.join(self.folder.path, self.name)

    @property
    def order(self) -> "Tuple[int, str]":
        return self.ts, self.name


def _place_of(name: str) -> "Tuple[int, str]":
    """Time and mark. A name of another make has no mark, and is older than all that have one."""
    parts = name[:-5].split("-")
    number = int(parts[0]) if parts[0].isdecimal() else 0
    return number, parts[2] if len(parts) == 4 else ""


def _lock(path: str, create: bool) -> "Optional[int]":
    """The descriptor of the lock; None when another process has it, or it is gone."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except (FileNotFoundError, NotADirectoryError):
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
        self._own: "Optional[Folder]" = None
        self._adopted: "Dict[str, Folder]" = {}
        self.unread = ""

    def add(self, ts: int, session: str, body: "Dict[str, Any]") -> Item:
        """Durable when it returns. Half of a surrogate pair, which no UTF-8 can say, is a question mark in it."""
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        held = [*self._adopted.values(), *([self._own] if self._own else [])]
        count = sum(one.count for one in held)
        if count >= self.MAX_ITEMS or sum(one.size for one in held) + len(text) > self.MAX_BYTES:
            raise Full(f"{count} turns wait in {self.folder}, and no more are kept")
        if self._own is not None and not os.path.exists(self._own.path):
            self._own.let_go()  # wiped away under us
            self._own = None
        folder = self._make_own()
        name = f"{ts:013d}-{next(_sequence):06d}-{mark_of(session)}-{secrets.token_hex(8)}.json"
        _write(os.path.join(folder.path, name), text)
        folder.count += 1
        folder.size += len(text)
        return Item(folder, name, len(text))

    def read(self, item: Item) -> "Dict[str, Any]":
        """What is in it. Raises Torn, or OSError."""
        with open(item.path, "rb") as file:
            text = file.read()
        try:
            body = json.loads(text)
            return {**body, "kind": body["kind"], "session": {**body["session"]}, "params": {**body["params"]}}
        except (ValueError, KeyError, TypeError) as error:
            raise Torn(f"{item.path} ({error})") from error

    def remove(self, item: Item) -> None:
        try:
            os.unlink(item.path)
        except FileNotFoundError:
            pass  # somebody cleaned up by hand; the store has it
        self._took(item)

    def set_aside(self, item: Item) -> str:
        """Out of the way, for a person to look at; the newest hundred are kept."""
        folder = os.path.join(self.folder, REFUSED)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for name in sorted(os.listdir(folder))[:-99]:
            os.unlink(os.path.join(folder, name))
        aside = os.path.join(folder, f"{time.time_ns():020d}-{item.name[:-5].rpartition('-')[2]}.json")
        os.replace(item.path, aside)
        self._took(item)
        return aside

    def _others(self) -> "Iterator[str]":
        """Folders of processes that live, or are no more."""
        try:
            names = sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return
        for name in names:
            path = os.path.join(self.folder, name)
            if name != REFUSED and path not in self._adopted and (self._own is None or path != self._own.path):
                yield path

    def others(self) -> bool:
        return any(True for _ in self._others())

    def is_ahead(self, item: Item) -> bool:
        """Another process has something of the same session in hand that was said before it, by one that is no more. What two
        that live say at once in one session has no order."""
        for path in self._others():
            try:
                names = os.listdir(path)
            except OSError:
                continue
            if LEFT not in names or not item.mark:
                continue
            for name in names:
                if name.endswith(".json"):
                    ts, mark = _place_of(name)
                    if mark == item.mark and ts < item.ts:
                        return True
        return False

    def adopt(self) -> "List[Item]":
        """What processes left that are no more. Why a folder could not be taken up is in `unread`; the next look tries again."""
        self.unread = ""
        items: "List[Item]" = []
        for path in self._others():
            lock = _lock(os.path.join(path, LOCK), create=False)
            if lock is None:
                _remove_unlocked(path)
                continue
            folder = Folder(path, lock, own=False)
            try:
                _make_left(path)
                found = list(_items_in(folder))
            except OSError as error:
                folder.let_go()
                self.unread = f"{path} cannot be taken up ({error})"
                continue
            folder.count, folder.size = len(found), sum(one.size for one in found)
            self._adopted[path] = folder
            items.extend(found)
            self._tidy(folder)
        return items

    def give_back(self) -> None:
        """What others left is for others again."""
        for folder in self._adopted.values():
            folder.let_go()
        self._adopted.clear()

    def close(self) -> None:
        """The process, or its last provider, is done: an empty folder goes."""
        if self._own is not None and self._own.remove():
            self._own = None

    def _make_own(self) -> Folder:
        while self._own is None:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            # By time, so that what is older is taken up first.
            path = os.path.join(self.folder, f"{int(time.time() * 1000):013d}-{os.getpid()}-{secrets.token_hex(4)}")
            os.mkdir(path, 0o700)
            try:
                lock = _lock(os.path.join(path, LOCK), create=True)
            except FileNotFoundError:
                continue
            if lock is not None:  # else another process took it for left behind, in the instant before the lock
                self._own = Folder(path, lock, own=True)
        return self._own

    def _took(self, item: Item) -> None:
        item.folder.count -= 1
        item.folder.size -= item.size
        self._tidy(item.folder)

    def _tidy(self, folder: Folder) -> None:
        if folder.count == 0 and folder is not self._own and folder.remove():
            self._adopted.pop(folder.path, None)


def _items_in(folder: Folder) -> "Iterator[Item]":
    with os.scandir(folder.path) as entries:
        for entry in entries:
            if entry.name.endswith(".json"):
                yield Item(folder, entry.name, entry.stat().st_size)
            elif entry.name not in (LOCK, LEFT):
                os.unlink(entry.path)  # was being written when its process died: sync_turn had not returned


def _make_left(path: str) -> None:
    try:
        os.close(os.open(os.path.join(path, LEFT), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError:
        pass  # a full disk: others do not wait for us then


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
