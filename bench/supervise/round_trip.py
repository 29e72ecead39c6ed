"""The round trip from Python beside the same helper on a bare pair of pipes: round_trip.py HELPER [BLOCKS]

Rows of a Markdown table. The bare side does what a client must do: dump, write, read a line, load.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import os


def main(helper: str, blocks: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOLDFAST_HOME"] = home
        import holdfast

        bare = subprocess.Popen([helper, "--life=600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert bare.stdin is not None and bare.stdout is not None
        out = os.fdopen(os.dup(bare.stdout.fileno()), "rb")

        def bare_echo(number: int) -> None:
            request = {"jsonrpc": "2.0", "id": number, "method": "echo", "params": {"text": "hello"}}
            bare.stdin.write(json.dumps(request, separators=(",", ":")).encode() + b"\n")
            assert json.loads(out.readline())["result"] == {"text": "hello"}

        with holdfast.Supervisor() as supervisor:
            hold = supervisor.hold([helper, "--life=600"])
            hold.wait_ready()
            figures: "dict[str, list[float]]" = {"bare": [], "main": [], "thread": []}

            def measure(name: str, one: "object", warm: bool) -> None:
                for number in range(500):
                    begin = time.perf_counter_ns()
                    one(number)  # type: ignore[operator]
                    if warm:
                        figures[name].append((time.perf_counter_ns() - begin) / 1000)

            def ask(number: int) -> None:
                hold.request("echo", {"text": "hello"})

            for block in range(blocks):
                measure("bare", bare_echo, block > 0)
                measure("main", ask, block > 0)
                worker = threading.Thread(target=measure, args=("thread", ask, block > 0))
                worker.start()
                worker.join()
            base = statistics.median(figures["bare"])
            for name, words in (("main", "on the main thread"), ("thread", "on another thread")):
                ours = statistics.median(figures[name])
                print(
                    f"| Python: request round trip {words}, p50; beside bare pipes | {ours:.2f} µs | {base:.2f} µs "
                    f"| {ours / base:.2f} | at most 60 µs more |"
                )
        bare.stdin.close()
        out.close()
        bare.stdout.close()
        bare.wait(10)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 21)
