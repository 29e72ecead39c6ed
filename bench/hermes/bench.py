"""The figures of the Hermes provider, as rows of a table.

    bench.py PLUGIN_FOLDER [TRACES]
"""

from __future__ import annotations

import asyncio  # noqa: F401 - a host has it loaded already, so it is no cost of ours
import atexit
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, List

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "tests", "e2e", "hermes"), os.path.join(HERE, "..", "stage")]
import pairs  # noqa: E402
import sampler  # noqa: E402
import sim  # noqa: E402

WORDS = [a + b for a in "ba ce di fo gu ka le mi no pu ra se ti vo zu".split() for b in "ran lem tik sol gar nev dro pis".split()]


def ms(function: "Callable[[], Any]") -> float:
    began = time.perf_counter()
    function()
    return (time.perf_counter() - began) * 1000


def median(values: "List[float]") -> float:
    return statistics.median(values)


def row(what: str, ours: float, at_most: "float | None" = None) -> None:
    pairs.value_row(what, ours, "ms", at_most)


def new_home() -> str:
    home = os.path.realpath(tempfile.mkdtemp(prefix="hf-bench-hermes-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ["HOLDFAST_HOME"] = os.path.join(home, "hf")
    return home


def cold(plugin: str) -> int:
    """In a process of its own: prints how long loading and the first initialize() took, and when the first recall was there."""
    home = new_home()
    loading = ms(lambda: sim.load_provider(plugin))
    provider = sim.load_provider(plugin)
    first = ms(lambda: provider.initialize("s", hermes_home=home))
    print(loading, first, first + ms(lambda: provider.prefetch("anything")))
    provider.shutdown()
    return 0


class Raw:
    """The helper on a bare pipe: what everything here is measured against."""

    def __init__(self, plugin: str, home: str) -> None:
        self.process = subprocess.Popen(
            [os.path.join(plugin, "lib", "holdfast", "holdfast-memory"), "--home=" + home, "--no-viewer"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1 << 20,
        )

    def send(self, number: int, method: str, params: "dict[str, Any]") -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def ask(self, method: str, params: "dict[str, Any]") -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.send(1, method, params)
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def close(self) -> None:
        self.process.communicate()


def fill(plugin: str, data: str, traces: int) -> None:
    chance = random.Random(1)
    os.makedirs(data, mode=0o700)
    raw = Raw(plugin, data)
    assert raw.process.stdin is not None and raw.process.stdout is not None
    episodes = []
    for number in range(max(1, traces // 100)):
        raw.ask("session.open", {"agent": "hermes", "sessionId": f"f{number}"})
        episodes.append(raw.ask("episode.open", {"sessionId": f"f{number}"})["episodeId"])
    for begin in range(0, traces, 500):
        for number in range(begin, min(begin + 500, traces)):
            at = number // 100 % len(episodes)
            text = " ".join(chance.choice(WORDS) for _ in range(50))
            raw.send(number, "turn.end", {"agent": "hermes", "sessionId": f"f{at}", "episodeId": episodes[at], "userText": text,
                                          "agentText": "ok", "toolCalls": [], "ts": 1_700_000_000_000 + number * 1000})
        raw.process.stdin.flush()
        for number in range(begin, min(begin + 500, traces)):
            raw.process.stdout.readline()
    raw.close()


def leave_behind(plugin: str, home: str, turns: int) -> None:
    """As a host does that was killed while nothing could be stored; without waiting for the disk each time."""
    code = (
        "import logging, os, sys; sys.path.insert(0, sys.argv[1]); import sim; logging.disable(50)\n"
        "p = sim.load_provider(sys.argv[2]); p.initialize('dead', hermes_home=sys.argv[3]); os.fsync = lambda fd: None\n"
        "for n in range(int(sys.argv[4])): p.sync_turn(f'turn {n} ' + 'w' * 3000, 'ok')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    words = [sys.executable, "-c", code, os.path.dirname(os.path.abspath(sim.__file__)), plugin, home, str(turns)]
    subprocess.run(words, env={**os.environ, "HOLDFAST_MEMORY": "/bin/false"}, stderr=subprocess.DEVNULL)


def backlog(plugin: str, turns: int) -> None:
    home = new_home()
    leave_behind(plugin, home, turns)
    provider = sim.load_provider(plugin)
    row(f"`initialize()`, with {turns:,} turns of a dead host waiting",
        ms(lambda: provider.initialize("s", hermes_home=home)), 30)
    while provider.recall_status() is None and not provider.prefetch("turn 7"):
        time.sleep(0.01)
    outbox, began = provider._link.outbox, time.perf_counter()
    synced, recalled = [], []
    while len(outbox):
        synced.append(ms(lambda: provider.sync_turn("said meanwhile", "ok")))
        recalled.append(ms(lambda: provider.prefetch("turn 77")))
        time.sleep(0.1)
    row("`sync_turn` while they are stored", median(synced))
    row("`prefetch` while they are stored", median(recalled))
    row("all of them stored, each", (time.perf_counter() - began) * 1000 / turns)
    provider.shutdown()


def main(plugin: str, traces: int) -> int:
    print(f"The load of the machine was {os.getloadavg()[0]:.1f} when it began; ratios are to the baseline of the same run.\n")
    print(pairs.HEAD)
    cold_ones = []

    def first_recall(_: int) -> float:
        words = [sys.executable, __file__, "--cold", plugin]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        cold_ones.append([float(word) for word in said.split()])
        return cold_ones[-1][2]

    def first_answer(_: int) -> float:
        home = new_home()

        def ask() -> None:
            raw = Raw(plugin, home)
            raw.ask("memory.search", {"query": "anything"})
            raw.close()

        return ms(ask)

    recalled, bare = pairs.in_turns(15, first_recall, first_answer)
    row("loading the plugin, once per host process", median([one[0] for one in cold_ones]))
    row("`initialize()`, cold", median([one[1] for one in cold_ones]), 30)
    pairs.pair_row("the same to the first recall", "a bare spawn, search and end", "ms", recalled, bare)

    home = new_home()
    data = os.path.join(home, "holdfast", "memory")
    fill(plugin, data, traces)
    # A home of its own: both are owners.
    shutil.copytree(data, data + "-raw", ignore=shutil.ignore_patterns("memory.sock", "memory.lock"))
    raw = Raw(plugin, data + "-raw")
    chance = random.Random(2)
    questions = [" ".join(chance.choice(WORDS) for _ in range(6)) for _ in range(300)]
    raw.ask("memory.search", {"query": questions[0]})
    provider = sim.load_provider(plugin)
    provider.initialize("s", hermes_home=home)
    while not provider.prefetch(questions[0]):
        time.sleep(0.01)
    warm = []
    for number in range(500):
        fresh = sim.load_provider(plugin)
        warm.append(ms(lambda: fresh.initialize(f"w{number % 7}", hermes_home=home)))
    row("`initialize()` while the helper lives", median(warm), 1)

    def bare_start(number: int) -> float:
        words = {"agent": "hermes", "sessionId": "raw", "userText": questions[number], "ts": int(time.time() * 1000)}
        return ms(lambda: raw.ask("turn.start", words))

    recalled, bare = pairs.in_turns(len(questions), lambda number: ms(lambda: provider.prefetch(questions[number])), bare_start)
    raw.close()
    pairs.pair_row(f"`prefetch` at {traces:,} traces", "`turn.start` on a bare pipe", "ms", recalled, bare, ours_at_most=8)
    times = [ms(lambda: provider.sync_turn(one, "ok")) for one in questions]
    row("`sync_turn`, with the turn on disk when it returns", median(times))
    provider._link.outbox.wait_empty(30)
    many = [sim.load_provider(plugin) for _ in range(500)]
    for number, one in enumerate(many):
        one.initialize(f"m{number}", hermes_home=home)
    many[-1].prefetch(questions[1])
    print(f"| processes of 500 providers | {len(sampler.helpers_of(data))} | 500 | | 1 | |", flush=True)
    for one in many:
        one.shutdown()
    provider.shutdown()
    backlog(plugin, 9_000)
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--cold":
        sys.exit(cold(sys.argv[2]))
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 30_000))
