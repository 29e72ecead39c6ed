"""The round trip from Python beside the same helper on a bare pair of pipes: round_trip.py HELPER [BLOCKS]

Rows of a Markdown table. The bare side does what a client must do: dump, write, read a line, load. Both are measured
under the same placing on processors; bench/stage/placing.hpp says why. Each thread of ours has a bare one beside it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from typing import Callable, Dict, List, Tuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stage"))
from pairs import pair_row, quantile  # noqa: E402

ALL = sorted(os.sched_getaffinity(0))
PLACINGS = [("both ends on one processor", ALL[:1], ALL[:1])]
if len(ALL) > 1:
    PLACINGS += [
        ("each end on its own processor", ALL[:1], ALL[1:2]),
        ("where the scheduler puts them", ALL, ALL),
    ]


def on_main(work: "Callable[[], None]") -> None:
    work()


def on_another(work: "Callable[[], None]") -> None:
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()


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

            def ask(number: int) -> None:
                hold.request("echo", {"text": "hello"})

            for words, caller, answerer in PLACINGS:
                os.sched_setaffinity(bare.pid, answerer)
                os.sched_setaffinity(hold.pid, answerer)
                figures: "Dict[Tuple[str, str], List[float]]" = {}

                def measure(who: str, where: str, one: "Callable[[int], None]", warm: bool) -> None:
                    """Each block gives one figure, so that a pair is two blocks within milliseconds."""
                    os.sched_setaffinity(0, caller)  # this thread alone
                    trips = []
                    for number in range(500):
                        begin = time.perf_counter_ns()
                        one(number)
                        trips.append((time.perf_counter_ns() - begin) / 1000)
                    if warm:
                        figures.setdefault((who, where), []).append(quantile(trips, 0.5))
                    os.sched_setaffinity(0, ALL)

                for block in range(blocks + 1):
                    for where, run in (("the main thread", on_main), ("another thread", on_another)):
                        pair = (("bare", bare_echo), ("ours", ask))
                        for who, one in pair if block % 2 else reversed(pair):
                            run(lambda: measure(who, where, one, block > 0))  # noqa: B023 - it is run here
                for where in ("the main thread", "another thread"):
                    pair_row(f"Python: request round trip on {where}, {words}, p50", "bare pipes", "µs",
                             figures["ours", where], figures["bare", where], more_at_most=60)
        bare.stdin.close()
        out.close()
        bare.stdout.close()
        bare.wait(10)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 21)
