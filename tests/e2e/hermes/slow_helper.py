#!/usr/bin/python3
"""Stands between the host and the real helper, whose store seems to open for as long as the file named by SLOW_UNTIL is not
there: health is answered with the phase, everything else waits, as the contract has it.

    SLOW_HELPER=PROGRAM SLOW_UNTIL=FILE slow_helper.py ARGUMENTS...
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from typing import Any, List

BORN = time.monotonic()


def main() -> int:
    helper = subprocess.Popen([os.environ["SLOW_HELPER"], *sys.argv[1:]], stdin=subprocess.PIPE)
    assert helper.stdin is not None
    waiting: "List[bytes]" = []
    rest = b""
    while True:
        opened = os.path.exists(os.environ["SLOW_UNTIL"])
        if opened and waiting:
            helper.stdin.write(b"".join(line + b"\n" for line in waiting))
            helper.stdin.flush()
            waiting = []
        if not select.select([0], [], [], None if opened else 0.01)[0]:
            continue
        piece = os.read(0, 65536)
        if not piece:
            break
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            message: Any = json.loads(line)
            if opened or message.get("method") != "core.health":
                waiting.append(line)
                continue
            health = {"ok": True, "phase": "recovering", "pid": os.getpid(), "progress": {"done": 1, "total": 4},
                      "uptimeMs": int((time.monotonic() - BORN) * 1000)}
            os.write(1, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": health}).encode() + b"\n")
    helper.stdin.close()
    return helper.wait()


if __name__ == "__main__":
    sys.exit(main())
