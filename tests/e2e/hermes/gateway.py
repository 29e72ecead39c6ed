"""A stand-in for the Hermes gateway: sees whether another one runs as the host does, writes the host's JSON record, and stays
until it is told to go. Exits 1 when it takes another process for a running gateway.

    gateway.py RECORD [--no-start-time] [--older]

A gateway of today is proven by a lock beside the record; what the record says without it is wiped away, and a new one is made
only where none is (O_EXCL). An older one believes the record: a live process of that number, start time and looks.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from typing import Any, Dict, Sequence


def start_ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def record(
    pid: int, with_start_time: bool = True, home: str = "/home", argv: Sequence[str] = ("hermes", "gateway", "run")
) -> str:
    return json.dumps(
        {
            "pid": pid,
            "kind": "hermes-gateway",
            "argv": list(argv),
            "start_time": start_ticks(pid) if with_start_time else None,
            "hermes_home": home,
        }
    )


def read(path: str) -> "Dict[str, Any]":
    try:
        with open(path, encoding="utf-8-sig") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def believed(found: "Dict[str, Any]") -> bool:
    """Whether the record names a gateway that runs, to one that knows no lock."""
    try:
        pid = int(found["pid"])
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            looks = b"gateway.py" in file.read()
        return looks and pid != os.getpid() and found.get("start_time") in (None, start_ticks(pid))
    except (KeyError, TypeError, ValueError, OSError):
        return False


def main(path: str, *options: str) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    if "--older" in options:
        if believed(read(path)):
            print(f"already running: {read(path)['pid']}", flush=True)
            return 1
    else:
        lock = open(os.path.join(os.path.dirname(path), "gateway.lock"), "a+", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("already running: the lock is held", flush=True)
            return 1
        if os.path.exists(path):
            os.unlink(path)
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if "--older" in options else os.O_EXCL)
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(record(os.getpid(), "--no-start-time" not in options, os.path.dirname(path), sys.argv))
    print(f"up {os.getpid()}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    if read(path).get("pid") == os.getpid():
        os.unlink(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
