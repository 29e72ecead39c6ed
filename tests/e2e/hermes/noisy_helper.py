#!/usr/bin/python3
"""Stands between the host and the real helper, with bad manners: puts stray lines between the answers, and asks the host
for a model when it sees a search. What it is answered goes into the file named by NOISY_ANSWERS.

    NOISY_HELPER=PROGRAM noisy_helper.py ARGUMENTS...
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

STRAY = b'null\n[1,2]\n"text"\n{}\nnot json\n\n{"jsonrpc":"2.0","id":987654,"result":1}\n'
out = threading.Lock()


def answers(helper: "subprocess.Popen[bytes]") -> None:
    assert helper.stdout is not None
    for line in helper.stdout:
        with out:
            os.write(1, STRAY + line)


def main() -> int:
    helper = subprocess.Popen(
        [os.environ["NOISY_HELPER"], *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert helper.stdin is not None
    reader = threading.Thread(target=answers, args=(helper,))
    reader.start()
    asked = 0
    for line in sys.stdin.buffer:
        message: Any = json.loads(line)
        if str(message.get("id", "")).startswith("srv-"):
            with open(os.environ["NOISY_ANSWERS"], "a", encoding="utf-8") as file:
                file.write(json.dumps(message) + "\n")
            continue
        if message.get("method") == "memory.search":
            asked += 1
            said = [{"role": "user", "content": message["params"]["query"]}]
            wish = {"messages": said, "maxTokens": 64, "timeoutMs": 2500}
            request = {"jsonrpc": "2.0", "id": f"srv-{asked}", "method": "host.llm.complete", "params": wish}
            with out:
                os.write(1, json.dumps(request).encode() + b"\n")
        helper.stdin.write(line)
    helper.stdin.close()
    reader.join()
    return helper.wait()


if __name__ == "__main__":
    sys.exit(main())
