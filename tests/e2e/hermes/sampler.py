"""Counts the memory helpers of one data home every 10 ms, from a process of its own, until its input ends.

    python3 sampler.py DATA_HOME      prints a line for each number that is more than all before, and at the end
                                      {"most", "last", "samples"}
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from typing import List


def _words(pid: str) -> "List[bytes]":
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _alive(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def helpers_of(home: str) -> "List[int]":
    flag = b"--home=" + home.encode()
    out = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            words = _words(pid)
            if words and os.path.basename(words[0]) == b"holdfast-memory" and flag in words and _alive(pid):
                out.append(int(pid))
    return out


def keepers_of(state: str) -> "List[int]":
    """Of one state folder. They write there what became of their helpers, and are the last to go."""
    flag = b"HOLDFAST_HOME=" + state.encode()
    out = []
    for pid in os.listdir("/proc"):
        words = _words(pid) if pid.isdigit() else []
        if words and os.path.basename(words[0]) == b"holdfast-keep" and _alive(pid):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if flag in file.read().split(b"\0"):
                        out.append(int(pid))
            except OSError:
                pass  # went meanwhile
    return out


def main(home: str) -> int:
    most = last = samples = 0
    print("sampling", flush=True)
    due = time.monotonic()
    while True:
        last = len(helpers_of(home))
        if last > most:
            most = last
            print(most, flush=True)
        samples += 1
        due = max(due + 0.01, time.monotonic() - 0.05)
        ready, _, _ = select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))
        if ready:
            break
    print(json.dumps({"most": most, "last": len(helpers_of(home)), "samples": samples}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
