"""A stand-in for the Hermes gateway: writes the host's JSON record and stays until it is told to go.

    gateway.py RECORD [--no-start-time]
"""

from __future__ import annotations

import json
import os
import signal
import sys


def start_ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def record(pid: int, with_start_time: bool = True) -> str:
    return json.dumps(
        {
            "pid": pid,
            "kind": "hermes-gateway",
            "argv": ["hermes", "gateway", "run"],
            "start_time": start_ticks(pid) if with_start_time else None,
        }
    )


def main(path: str, *options: str) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    with open(path, "w", encoding="utf-8") as file:
        file.write(record(os.getpid(), "--no-start-time" not in options))
    print(f"up {os.getpid()}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    os.unlink(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
