#!/usr/bin/python3
"""Stands between the host and the real helper, and refuses what the file named by REFUSING says: a JSON object of methods,
or of "method text" for those whose parameters have that text in them, and the code that each is refused with. Without the file
nothing is refused.

    REFUSING_HELPER=PROGRAM REFUSING=FILE refusing_helper.py ARGUMENTS...
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def refusal(line: bytes) -> "Any":
    try:
        with open(os.environ["REFUSING"], encoding="utf-8") as file:
            codes = json.load(file)
    except FileNotFoundError:
        return None
    message = json.loads(line)
    for what, code in codes.items():
        method, _, text = what.partition(" ")
        if message.get("method") == method and text in json.dumps(message.get("params")):
            data = {"name": "MemoryError", "code": code, "message": "refused"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "refused", "data": data}}
    return None


def main() -> int:
    helper = subprocess.Popen([os.environ["REFUSING_HELPER"], *sys.argv[1:]], stdin=subprocess.PIPE, bufsize=0)
    assert helper.stdin is not None
    for line in sys.stdin.buffer:
        refused = refusal(line)
        if refused is None:
            helper.stdin.write(line)
        else:
            os.write(1, json.dumps(refused).encode() + b"\n")
    helper.stdin.close()
    return helper.wait()


if __name__ == "__main__":
    sys.exit(main())
